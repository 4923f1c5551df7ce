package gate

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// act is one thing that happens to a process, drawn from the seed.
func (w *fairWorld) act(p *fairProcess) {
	if p.frozen > w.now {
		return
	}
	switch n := w.rng.IntN(20); {
	case n < 4 && !p.closing:
		want := wants{try: w.rng.IntN(8) == 0, owner: uint64(w.rng.IntN(12)) % 4}
		if !want.try && w.rng.IntN(5) == 0 {
			want.wait = w.upTo(500 * time.Millisecond)
		}
		if w.rng.IntN(4) == 0 {
			want.lease = 50*time.Millisecond + w.upTo(time.Second).Truncate(time.Millisecond)
		}
		p.ask(want)
	case n < 6 && len(p.calls) > 0 && !w.quiet:
		p.abandon(p.calls[w.rng.IntN(len(p.calls))])
	case n < 11:
		for _, c := range p.calls {
			p.unlock(c)
		}
	case n == 11:
		p.listen()
	case n == 12 && !w.quiet && w.rng.IntN(12) == 0:
		p.frozen = w.now + w.upTo(2*time.Second)
		w.note("%s is frozen until %v", p.cfg.UUID, p.frozen)
	case n == 13 && !w.quiet && w.rng.IntN(40) == 0:
		p.closing = true
		p.step("closes", func(m Machine, fx *Effects) { m.Close(w.now, fx) })
	case n == 14 && w.rng.IntN(6) == 0:
		w.rest(time.Second)
	default:
		luck := 100
		if !w.quiet {
			luck = w.rng.IntN(14)
		}
		p.carry(luck)
	}
}

// rest lets time go by while nobody asks or unlocks, and all is carried at once.
func (w *fairWorld) rest(d time.Duration) {
	for end := w.now + d; w.now < end; {
		for _, p := range w.procs {
			if p.frozen <= w.now {
				p.carry(100)
				p.listen()
			}
		}
		w.pass(10 * time.Millisecond)
	}
}

// settle ends all calls and holds, without faults, and checks that nothing is left.
func (w *fairWorld) settle() {
	w.quiet = true
	w.note("no faults from now on")
	for range 800 {
		for _, p := range w.procs {
			p.frozen = 0
			for _, c := range p.calls {
				p.abandon(c)
				p.unlock(c)
			}
			p.carry(100)
			p.listen()
		}
		w.pass(10 * time.Millisecond)
	}
	for _, p := range w.procs {
		if !p.entry.Machine.Idle() {
			w.broken("%s is not idle: %+v", p.cfg.UUID, p.entry.Machine.(*Mutex).queue.fair)
		}
		if len(p.hears) > 0 {
			w.broken("%s still listens to %v", p.cfg.UUID, p.hears)
		}
	}
	if keys := w.redis.Keys(); len(keys) > 0 {
		w.broken("left in Redis: %q", keys)
	}
}

// fairSeeds are those to play: all up to WHEELLOCK_FAIR_SEEDS, or the one that WHEELLOCK_FAIR_SEED names. With -short or
// -race a fifth of the usual ones.
func fairSeeds(t *testing.T, usual int) (from, to int) {
	if text := os.Getenv("WHEELLOCK_FAIR_SEED"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n, n + 1
	}
	if text := os.Getenv("WHEELLOCK_FAIR_SEEDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return 0, n
	}
	if few() {
		usual /= 5
	}
	return 0, usual
}

// invariant: fair-queue-order
func TestFairReplays(t *testing.T) {
	for _, conditions := range []string{"quiet", "faulty"} {
		from, to := fairSeeds(t, 25)
		for seed := from; seed < to; seed++ {
			t.Run(fmt.Sprintf("%s, seed %d", conditions, seed), func(t *testing.T) {
				w := newFairWorld(t, uint64(seed), 2+seed%3)
				w.quiet = conditions == "quiet"
				for range 250 {
					w.act(w.procs[w.rng.IntN(len(w.procs))])
					if w.rng.IntN(3) == 0 {
						w.pass(w.upTo(20 * time.Millisecond))
					}
				}
				w.settle()
			})
		}
	}
}
