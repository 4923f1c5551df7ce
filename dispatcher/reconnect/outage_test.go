package reconnect

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Outages that follow each other closely, such as those of a connection that is cut whenever it stands, are told once a
// second at most, and a minute of failures in a line.
func TestOutagesAreToldSeldom(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	lines := func() int { defer log.Reset(); return strings.Count(log.String(), "\n") }
	synctest.Test(t, func(*testing.T) {
		var o Outage
		for range 1000 { // 10 s
			o.Failed(logger, "down")
			time.Sleep(5 * time.Millisecond)
			o.Over(logger, "up")
			time.Sleep(5 * time.Millisecond)
		}
		if n := lines(); n < 2 || n > 20 {
			t.Errorf("%d lines about 1000 short outages in 10 s", n)
		}
		time.Sleep(time.Second)
		for range 601 { // 10 min
			o.Failed(logger, "down")
			time.Sleep(time.Second)
		}
		if n := lines(); n != 11 {
			t.Errorf("%d lines about an outage of 10 min", n)
		}
		o.Over(logger, "up")
		o.Over(logger, "up")
		if n := lines(); n != 1 {
			t.Errorf("%d lines about its end", n)
		}
	})
}
