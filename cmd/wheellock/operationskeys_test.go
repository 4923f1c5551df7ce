package main

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/elect"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// The table of what is in Redis has each key and channel of each kind, and no others.
func TestOperationsKnowsAllKeys(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	holdAllKinds(t, server)
	table := sections(t, "../../docs/OPERATIONS.md")["What is in Redis"]
	var keys, channels []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) == 6 && !strings.HasPrefix(cells[1], "---") {
			keys, channels = append(keys, quoted(cells[2])...), append(channels, quoted(cells[4])...)
		}
	}
	compare(t, "key", keys, func() []string { return server.Keys() })
	compare(t, "channel", channels, func() []string { return server.Subscriptions().Channels })
}

// quoted are the words in backquotes.
func quoted(cell string) (words []string) {
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		words = append(words, m[1])
	}
	return words
}

// compare awaits that each form matches one of what is there, and all of it matches a form.
func compare(t *testing.T, what string, forms []string, there func() []string) {
	t.Helper()
	const uuid = `[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`
	names := strings.NewReplacer("NAME", `[a-z]+(?::[0-9]+)?`, "OWNER", uuid+`:\d+(?::write)?`, "ENGINE", uuid)
	slices.Sort(forms)
	forms = slices.Compact(forms)
	missing, unknown := "", ""
	t.Cleanup(func() {
		if missing+unknown != "" {
			t.Logf("%s: missing:%s; unknown: %s", what, missing, unknown)
		}
	})
	redistest.Await(t, "each "+what+" of the document", func() bool {
		missing, unknown = "", ""
		found := there()
		rest := slices.Clone(found)
		for _, form := range forms {
			is := regexp.MustCompile("^" + names.Replace(regexp.QuoteMeta(form)) + "$").MatchString
			if !slices.ContainsFunc(found, is) {
				missing += " " + form
			}
			rest = slices.DeleteFunc(rest, is)
		}
		unknown = strings.Join(rest, " ")
		return missing == ""
	})
	if len(forms) == 0 || unknown != "" {
		t.Errorf("of %d forms of a %s none is of %s", len(forms), what, unknown)
	}
}

// holdAllKinds has one engine hold each kind of lock, as Redisson does a mutex, and another one wait for each, until the end of the test.
func holdAllKinds(t *testing.T, server *redistest.Server) {
	t.Helper()
	ctx, soon, e, other := t.Context(), testkit.Soon(t), testkit.Connect(t, server.Addr()), testkit.Connect(t, server.Addr())
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for what, l := range map[string]func(*engine.Engine) engine.Locker{
		"mutex":  func(e *engine.Engine) engine.Locker { return e.Mutex("stock:7") },
		"fenced": func(e *engine.Engine) engine.Locker { return e.FencedMutex("invoice:9") },
		"reader": func(e *engine.Engine) engine.Locker { return e.RWMutex("prices").Reader() },
		"fair":   func(e *engine.Engine) engine.Locker { return e.FairMutex("tickets") },
	} {
		_, err := l(e).TryLock(soon)
		must(what, err)
		if what != "reader" {
			l(other).LockAsync(ctx)
		}
	}
	_, err := e.Mutex("noted").TryLock(soon, engine.WithNote("order 7"))
	must("a note", err)
	other.RWMutex("prices").Writer().LockAsync(ctx)
	testkit.NewOutsider(t, server.Addr()).Take("java", time.Hour)
	other.Mutex("java").LockAsync(ctx)
	server.MustDo("HSET", "catalog", "mode", "write", "00000000-0000-4000-8000-000000000000:1:write", "1") // as a client of Redisson does
	other.RWMutex("catalog").Reader().LockAsync(ctx)
	_, err = e.Semaphore("seats").TrySetPermits(soon, 2)
	must("semaphore", err)
	for i, waiter := range []*engine.Engine{other, testkit.Connect(t, server.Addr())} {
		waiter.Semaphore("seats").AcquireAsync(ctx, 3)
		redistest.Await(t, "each to stand in line", func() bool { return testkit.InLine(server, "seats") == i+1 })
	}
	server.MustDo("INCRBY", "seats", "1") // as a client of Redisson frees permits: the first takes them, and from then on the next one listens
	_, err = e.PermitSemaphore("desks").TrySetPermits(soon, 1)
	must("permits", err)
	_, err = e.PermitSemaphore("desks").TryAcquire(soon, 1)
	must("permit", err)
	other.PermitSemaphore("desks").AcquireAsync(ctx, 1)
	_, err = e.CountDownLatch("start").TrySetCount(soon, 1)
	must("latch", err)
	other.CountDownLatch("start").WaitAsync(ctx)

	var ends sync.WaitGroup
	t.Cleanup(ends.Wait)
	leads := make(chan struct{})
	campaign := func(e *engine.Engine, begun func()) {
		ends.Go(func() {
			_ = elect.New(e, "scheduler", elect.Options{}).Run(ctx, func(ctx context.Context, _ int64) error {
				begun()
				<-ctx.Done()
				return nil
			})
		})
	}
	campaign(e, func() { close(leads) })
	<-leads
	campaign(other, func() {})
	ends.Go(func() {
		for range elect.New(other, "scheduler", elect.Options{}).Observe(ctx) {
		}
	})
}
