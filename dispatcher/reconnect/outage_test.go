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
// second at most, and a long one in ever fewer lines.
func TestOutagesAreToldSeldom(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	lines := func() int { defer log.Reset(); return strings.Count(log.String(), "\n") }
	synctest.Test(t, func(*testing.T) {
		var o Outage
		for range 1000 { // 10 s
			o.Failed(logger, "down")
			time.Sleep(5 * time.Millisecond)
			o.Ended(logger, "up")
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
		told := log.String()
		if n := lines(); n != 13 {
			t.Errorf("%d lines about an outage of 10 min", n)
		}
		told, _, _ = strings.Cut(told, "for=2m21s")
		if first, _, _ := strings.Cut(told, "\n"); strings.Contains(first, "for=") || strings.Contains(first, "failures=") {
			t.Errorf("the first line says how long it has lasted: %s", first)
		}
		for _, at := range []string{"for=1s failures=2", "for=5s failures=6", "for=21s failures=22", "for=1m21s failures=82"} {
			if _, rest, found := strings.Cut(told, at); !found {
				t.Errorf("no line %q in %s", at, told)
			} else {
				told = rest
			}
		}
		o.Ended(logger, "up")
		o.Ended(logger, "up")
		if n := lines(); n != 1 {
			t.Errorf("%d lines about its end", n)
		}
		o.Failed(logger, "down")
		time.Sleep(time.Second - 1)
		o.Failed(logger, "down")
		if n := lines(); n != 0 {
			t.Errorf("%d lines within a second after that", n)
		}
		time.Sleep(time.Nanosecond)
		if o.Failed(logger, "down"); lines() != 1 {
			t.Error("no line about the next outage")
		}
	})
}
