package polyglot

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/interop"
	"github.com/wheellock/wheellock/internal/interop/driver"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

var atLength = flag.Bool("at-length", false, "fights that last longer, and shares beside 16 engines")

// fightFor is how long parties contend.
func fightFor() time.Duration {
	if *atLength {
		return 10 * time.Second
	}
	return 3 * time.Second
}

// party is who contends: of a library if theirs is not nil, else of ours.
type party struct {
	what    string
	theirs  *interop.Side
	ours    taker
	callers int
	counts
	gaveUp error
}

// run has the parties contend, and finds that nobody was inside beside another.
func (f fight) run(t *testing.T, on *redistest.Server, parties ...*party) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: on.Addr()})
	defer client.Close()
	var wg sync.WaitGroup
	for _, p := range parties {
		if p.theirs == nil {
			wg.Go(func() { p.counts, p.gaveUp = f.fight(client, p.callers, p.ours) })
			continue
		}
		answer := p.theirs.Start("contend %s %d %d %d %d", f.name, p.callers, f.lasts.Milliseconds(), f.inside.Milliseconds(), f.hold.Milliseconds())
		wg.Go(func() {
			said, ok := driver.Read(<-answer)
			if !ok {
				p.gaveUp = fmt.Errorf("%s", said)
				return
			}
			p.sections, p.violations = int(interop.Field(t, said, "sections")), int(interop.Field(t, said, "violations"))
			p.maxWait = time.Duration(interop.Field(t, said, "maxWaitMs")) * time.Millisecond
		})
	}
	wg.Wait()
	for _, p := range parties {
		if p.gaveUp != nil || p.violations > 0 {
			t.Errorf("%s: %d of %d times another was inside, %v", p.what, p.violations, p.sections, p.gaveUp)
		}
		t.Logf("%s: %d callers had it %d times in %v, and waited for up to %v", p.what, p.callers, p.sections, f.lasts, p.maxWait.Round(time.Millisecond))
	}
	if left := on.MustDo("GET", "inside:"+f.name).Text; left != "0" {
		t.Errorf("%s are inside at the end", left)
	}
}

// engines are so many, with a caller each, whose leases are fixed or renewed.
func engines(t *testing.T, on *redistest.Server, n int, fixed bool) (all []*party) {
	for range n {
		e := testkit.Connect(t, on.Addr(), patient)
		all = append(all, &party{what: "an engine", callers: 1, ours: ours(fixed, func(name string) engine.Locker { return e.SimpleMutex(name) })})
	}
	return all
}

// TestContention: all libraries and two engines exclude each other, and all get in.
func TestContention(t *testing.T) {
	t.Parallel()
	require(t)
	server := redistest.Start(t)
	parties := engines(t, server, 2, false)
	for _, l := range libraries {
		parties = append(parties, &party{what: l.name, callers: 2, theirs: l.process(t, server)})
	}
	fight{"contended", 2 * fightFor(), time.Millisecond, time.Minute}.run(t, server, parties...)
	for _, p := range parties {
		if p.sections == 0 {
			t.Errorf("%s never had it", p.what)
		}
	}
}

// TestPollersGetTheirShare: beside engines a poller has at least a quarter of what it has beside as many of its like. docs/POLYGLOT.md has what
// was measured, which is more than all of it. One that sleeps for longer than the pauses gets in by chance, and may need some more time.
func TestPollersGetTheirShare(t *testing.T) {
	beside(t, every, func(t *testing.T, p *pair) {
		p.share(t, 2)
		if *atLength {
			p.share(t, 16)
		}
	})
}

func (p *pair) share(t *testing.T, n int) {
	alone := &party{what: "its like", callers: n + 1, theirs: p.theirs}
	f := fight{"alone", fightFor(), 5 * time.Millisecond, time.Minute}
	f.run(t, p.server, alone)
	for leases, fixed := range map[string]bool{"renewed": false, "fixed": true} {
		f.name = fmt.Sprintf("%s-beside-%d", leases, n)
		one := &party{what: p.name, callers: 1, theirs: p.theirs}
		all := append(engines(t, p.server, n, fixed), one)
		had, share := 0, 0.0
		for fights := 1; fights <= 5 && share < 0.25; fights++ {
			f.run(t, p.server, all...)
			had += one.sections
			share = float64(had*(n+1)) / float64(fights*alone.sections)
		}
		t.Logf("SHARE %s beside %d engines, leases %s: %d, %d for %d of its like, %.1f", p.name, n, leases, had, alone.sections, n+1, share)
		if share < 0.25 {
			t.Errorf("beside %d engines, leases %s: %.2f", n, leases, share)
		}
	}
}
