package engine_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/virtual"
)

// specRisk is spec for an engine with an observer that keeps what it is told of risks, and of the ends of holds; then then is called.
func specRisk(test func(b *bubble, r *record), then ...func(engine.Risk)) func(*testing.T) {
	r := &record{}
	return spec(engine.Options{Observer: &engine.Observer{Ended: r.observer().Ended, Risk: func(k engine.Risk) {
		r.risk(k)
		for _, f := range then {
			f(k)
		}
	}}}, func(b *bubble) { test(b, r) })
}

func (r *record) risk(k engine.Risk) {
	switch {
	case k.Err == nil:
		r.add("%s %s renewed", k.Kind, k.Name)
	case k.Left > 15*time.Second || k.Left < 10*time.Second || k.Owner == "": // of a lease of 30 s
		r.add("%s %s of %s at risk, %v left", k.Kind, k.Name, k.Owner, k.Left)
	default:
		r.add("%s %s at risk: %s", k.Kind, k.Name, riskOf(k.Err))
	}
}

// riskOf names why a hold is at risk.
func riskOf(err error) string {
	for name, target := range map[string]error{"not sent": engine.ErrNotSent, "refused": engine.ErrRefused, "uncertain": engine.ErrUncertain} {
		if errors.Is(err, target) {
			return name
		}
	}
	return fmt.Sprint(err)
}

// wantRisks is wantSaid for what comes in any order.
func (b *bubble) wantRisks(r *record, want ...string) {
	b.Helper()
	got := r.lines()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		b.Errorf("the observer was told\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func (b *bubble) wantAtRisk(want int64) {
	b.Helper()
	synctest.Wait()
	if got := b.Stats().AtRisk; got != want {
		b.Errorf("Stats().AtRisk is %d, want %d", got, want)
	}
}

// Whenever a server falls silent, a holder is told before the loss: also if the next connection times out twice before the renewal is
// found to have failed, which with one lease in sixty of 5 s left 0.4 s.
// invariant: warned-once
func TestSpecRiskLeavesTime(t *testing.T) {
	t.Parallel()
	for lease, least := range map[time.Duration]time.Duration{10 * time.Second: 500 * time.Millisecond, 30 * time.Second: 7 * time.Second} {
		for phase := range 10 {
			var left time.Duration
			specAlone(engine.Options{Lease: lease, Observer: &engine.Observer{Risk: func(k engine.Risk) { left = k.Left }}}, func(b *bubble) {
				h := b.lock(b.Mutex("stock:7"))
				time.Sleep(lease / 30 * time.Duration(phase))
				b.redis.SetLatency(time.Hour)
				<-h.Done()
				if synctest.Wait(); left < least || left > lease/2 {
					b.Errorf("a lease of %v, silent %v after the grant: told with %v left", lease, lease/30*time.Duration(phase), left)
				}
			})(t)
		}
	}
}

// invariant: warned-once
func TestSpecRisk(t *testing.T) {
	t.Parallel()
	t.Run("a holder is told while the link is cut, and when it was renewed", specRisk(func(b *bubble, r *record) {
		h := b.lock(b.Mutex("stock:7"))
		b.redis.SetDown(true)
		time.Sleep(14 * time.Second)
		b.wantSaid(r)
		time.Sleep(5 * time.Second)
		b.wantSaid(r, "mutex stock:7 at risk: not sent")
		b.wantAtRisk(1)
		time.Sleep(4 * time.Second)
		b.redis.SetDown(false)
		time.Sleep(2 * time.Second)
		b.wantSaid(r, "mutex stock:7 renewed")
		b.wantAtRisk(0)
		time.Sleep(manyLeases)
		b.wantHeld(h)
		b.unlock(h)
		b.wantSaid(r, "mutex stock:7 ended after 2m25s: unlocked")
	}))
	t.Run("it is told once, before the loss", specRisk(func(b *bubble, r *record) {
		h := b.lock(b.Mutex("stock:7"))
		b.redis.SetDown(true)
		<-h.Done()
		b.wantSaid(r, "mutex stock:7 at risk: not sent", "mutex stock:7 ended after 29.7s: lost")
		b.wantAtRisk(0)
	}))
	t.Run("nothing is told of what is unlocked or renewed in time", specRisk(func(b *bubble, r *record) {
		h := b.lock(b.Mutex("stock:7"))
		for range 10 {
			time.Sleep(9500 * time.Millisecond)
			b.redis.SetDown(true)
			time.Sleep(3 * time.Second)
			b.redis.SetDown(false)
			time.Sleep(time.Second)
		}
		b.wantHeld(h)
		b.redis.SetDown(true)
		time.Sleep(12 * time.Second)
		h.UnlockAsync()
		time.Sleep(time.Minute)
		b.wantSaid(r, "mutex stock:7 ended after 2m27s: unlocked")
	}))
	t.Run("what is unlocked at risk ends, and nothing else is told", specRisk(func(b *bubble, r *record) {
		h := b.lock(b.Mutex("stock:7"))
		b.redis.SetDown(true)
		time.Sleep(20 * time.Second)
		h.UnlockAsync()
		b.redis.SetDown(false)
		time.Sleep(time.Minute)
		b.wantSaid(r, "mutex stock:7 at risk: not sent", "mutex stock:7 ended after 20s: unlocked")
		b.wantAtRisk(0)
	}))
	t.Run("a server that refuses", specRisk(func(b *bubble, r *record) {
		h := b.lock(b.Mutex("stock:7"))
		b.redis.Refuse(virtual.NoPermission, 0)
		time.Sleep(20 * time.Second)
		b.wantSaid(r, "mutex stock:7 at risk: refused")
		b.redis.Refuse("", 0)
		time.Sleep(2 * time.Second)
		b.wantSaid(r, "mutex stock:7 renewed")
		b.wantHeld(h)
	}))
	t.Run("answers that are lost", specRisk(func(b *bubble, r *record) {
		h := b.lock(b.Mutex("stock:7"))
		b.redis.SetLatency(20 * time.Millisecond) // nobody connects anew before the next answer is to be lost
		for range 20 * 100 {
			b.redis.LoseAnswer()
			time.Sleep(10 * time.Millisecond)
		}
		b.wantSaid(r, "mutex stock:7 at risk: uncertain")
		b.wantHeld(h)
	}))
	t.Run("a server that falls silent, under every kind that is renewed, and no fixed lease", specRisk(func(b *bubble, r *record) {
		permits := b.permitPool(b.Engine, 2)
		for _, l := range []*engine.Mutex{b.Mutex("m"), b.FencedMutex("f"), b.SpinMutex("s"), b.SimpleMutex("e"), b.FairMutex("q"), b.RWMutex("r").Reader(), b.RWMutex("w").Writer()} {
			b.lock(l)
		}
		b.acquire(permits, 2)
		b.lock(b.Mutex("fixed"), engine.WithLease(25*time.Second))
		multi, err := engine.Multi(b.Mutex("x"), b.Mutex("y"))
		b.wantNil("Multi", err)
		b.lock(multi)
		b.redis.SetLatency(time.Hour)
		time.Sleep(20 * time.Second)
		b.wantRisks(r, "fair q at risk: not sent", "fenced f at risk: not sent", "mutex m at risk: not sent", "mutex x at risk: not sent",
			"mutex y at risk: not sent", "permits pool at risk: not sent", "read r at risk: not sent", "simple e at risk: not sent", "spin s at risk: not sent",
			"write w at risk: not sent")
		b.wantAtRisk(10)
		b.redis.SetLatency(0)
		time.Sleep(9 * time.Second)
		b.wantRisks(r, "fair q renewed", "fenced f renewed", "mutex fixed ended after 24.75s: lost", "mutex m renewed", "mutex x renewed",
			"mutex y renewed", "permits pool renewed", "read r renewed", "simple e renewed", "spin s renewed", "write w renewed")
		b.wantAtRisk(0)
	}))
	t.Run("a function that panics or ends its goroutine keeps nothing from the others", specRisk(func(b *bubble, r *record) {
		for _, name := range []string{"panics", "ends", "other"} {
			b.lock(b.Mutex(name))
		}
		b.redis.SetDown(true)
		time.Sleep(20 * time.Second)
		b.wantRisks(r, "mutex ends at risk: not sent", "mutex other at risk: not sent", "mutex panics at risk: not sent")
	}, func(k engine.Risk) {
		switch k.Name {
		case "panics":
			panic(k)
		case "ends":
			runtime.Goexit()
		}
	}))
	t.Run("the log has one line, and the number of the others", specLogged(engine.Options{}, func(b *bubble, log *lockedLog) {
		for i := range 1000 {
			b.lock(b.Mutex(fmt.Sprint("stock:", i)))
		}
		b.redis.SetLatency(time.Hour)
		time.Sleep(29 * time.Second)
		synctest.Wait()
		text := log.read()
		for _, line := range []string{
			`msg="wheellock: the renewal of a lock is overdue" name=stock:`,
			`level=WARN msg="wheellock: more renewals are overdue" locks=999 within=10s`,
		} {
			if strings.Count(text, "overdue") != 2 || !strings.Contains(text, line) {
				b.Errorf("the log lacks %s, or has more:\n%s", line, text)
			}
		}
	}))
}
