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
			o.Failed(t, logger, "down")
			time.Sleep(5 * time.Millisecond)
			o.Ended(t, logger, "up")
			time.Sleep(5 * time.Millisecond)
		}
		if n := lines(); n < 2 || n > 20 {
			t.Errorf("%d lines about 1000 short outages in 10 s", n)
		}
		time.Sleep(time.Second)
		for range 601 { // 10 min
			o.Failed(t, logger, "down")
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
		o.Ended(t, logger, "up")
		o.Ended(t, logger, "up")
		if n := lines(); n != 1 {
			t.Errorf("%d lines about its end", n)
		}
		o.Failed(t, logger, "down")
		time.Sleep(time.Second - 1)
		o.Failed(t, logger, "down")
		if n := lines(); n != 0 {
			t.Errorf("%d lines within a second after that", n)
		}
		time.Sleep(time.Nanosecond)
		if o.Failed(t, logger, "down"); lines() != 1 {
			t.Error("no line about the next outage")
		}
	})
}

// Of several who notice an outage the first tells that it begins, and the last that it is over. Who is gone is not waited for.
func TestAnOutageIsToldOnceHoweverManyNoticeIt(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	said := func() string { defer log.Reset(); return log.String() }
	synctest.Test(t, func(t *testing.T) {
		var all Outages
		o, other, again := all.Of("a"), all.Of("b"), all.Of("a")
		if o == other || o != again {
			t.Fatal("outages of the same thing are the same, and no others")
		}
		if all.Forget("b"); all.Of("b") == other {
			t.Error("what was forgotten is kept")
		}
		for who := range 3 {
			o.Failed(who, logger, "down")
		}
		time.Sleep(30 * time.Second)
		if lines := said(); strings.Count(lines, "\n") != 1 {
			t.Errorf("three notice an outage: %s", lines)
		}
		o.Ended(0, logger, "up")
		o.Ended(3, logger, "up")
		o.Leave(1)
		if lines := said(); lines != "" {
			t.Errorf("one still fails: %s", lines)
		}
		o.Ended(2, logger, "up")
		if lines := said(); !strings.Contains(lines, "after=30s failures=3") {
			t.Errorf("the last does not fail any more: %q", lines)
		}
	})
}
