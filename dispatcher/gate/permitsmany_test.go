package gate

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// One call takes or frees the permits of many holds. What no caller wants any more is freed, and what Redis has not in whole is not granted.
// invariant: change-has-one-effect, reply-says-what-redis-holds
func TestManyPermitsScenes(t *testing.T) {
	const threeAtOnce = `
			x changes permit-free 9          -> permit free 1 0,1,0;id-0000000000009 next 16 n 1
			a locks n 1
			b locks n 2 lease 300ms
			c locks n 1
			answer 0                         -> x ok: lost; permit take 2 1x1x1000,2x1x300,1x1x1000,`
	playScenes(t, PermitKind, map[string]string{
		"all of them are granted, each under its numbers, and freed by one call": threeAtOnce + `
			answer 3                         -> a: granted until 990ms; b: granted until 295ms; c: granted until 990ms
			y changes permit-add 1           -> permit add 6 n 1
			a unlocks
			b unlocks
			c unlocks
			answer 0                         -> y ok: granted; permit free 7 2,1,0;3,2,0;5,1,0; n 4
			answer 5                         -> a ok: granted; b ok: lost; c ok: granted
			idle                             -> true`,
		"those from the front, as far as the permits go": threeAtOnce + `
			answer 2                         -> a: granted until 990ms; b: granted until 295ms; subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 6 1x1x1000, n 1`,
		"the permits of one that has gone are the next one's that wants just these, and else go back": threeAtOnce + `
			b goes                           -> b: is not there
			d locks n 1
			answer 3                         -> a: granted until 990ms; c: granted until 990ms; permit free 6 3,2,0; n 2
			answer 1                         -> permit take 7 1x1x1000,
			answer 1                         -> d: granted until 990ms`,
		"those of one that goes before it hears of them": threeAtOnce + `
			d locks n 1
			a leaves
			c leaves
			answer 3                         -> a: is not there; b: granted until 295ms; c: is not there; d: granted until 990ms; permit free 6 2,1,0; n 1`,
		"an answer that was lost: what is there as a whole is granted, what may be left of the others is freed": threeAtOnce + `
			lost
			after 20ms                       -> (18ms) permit take 2 1x1x1000,2x1x300,1x1x1000, next 1
			answer 1                         -> a: granted until 1.008s; permit free 6 3,2,0;5,1,0; n 3
			answer 0                         -> permit take 7 2x1x300,1x1x1000,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u`,
		"an answer that comes too late for some": threeAtOnce + `
			stall 400ms
			answer 3                         -> a: granted until 990ms; permit renew 6 2,1,1000; 1s
			answer 1                         -> permit free 7 3,2,0;5,1,0; n 3`,
		"an answer that too few replicas have": threeAtOnce + `
			alone 2                          -> permit free 6 2,1,0;3,2,0; n 3`,
		"a release that is refused, and one whose answer is lost": threeAtOnce + `
			answer 3                         -> a: granted until 990ms; b: granted until 295ms; c: granted until 990ms
			y changes permit-add 1           -> permit add 6 n 1
			a unlocks
			c unlocks
			lost
			after 20ms                       -> (17ms) permit add 6 n 1
			answer 0                         -> y ok: granted; permit free 7 2,1,0;5,1,0; n 2
			answer fault 2
			after 20ms                       -> (16ms) permit free 7 2,1,0;5,1,0; n 2
			lost
			after 40ms                       -> (39ms) permit free 7 2,1,0;5,1,0; n 2
			answer 3                         -> a ok: granted; c ok: granted`,
	})
}

// An engine that is called and finds too few permits for its first waiter collects them, for a bounded time.
// invariant: others-get-a-turn
func TestCollectingScenes(t *testing.T) {
	const called = `
			a locks n 3                      -> take 1 3x1,
			answer -1                        -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 3x1, n 3 collects
			answer joins -1ms
			told 0                           -> take 3 3x1, n 3 collects
			answer collects -1ms`
	playScenes(t, SemaphoreKind, map[string]string{
		"it asks every 80 ms, and is called for as long": called + `
			after 79ms
			after 1ms                        -> take 4 3x1, n 3 collects
			answer collects -1ms
			after 80ms                       -> take 5 3x1, n 3 collects
			answer 3                         -> a: granted`,
		"it is told when they are enough": called + `
			told 0                           -> take 4 3x1, n 3 collects
			answer 3                         -> a: granted`,
		"after a quarter of a second it rests without a place for a second, and then collects for half a second": called + `
			after 80ms                       -> take 4 3x1, n 3 collects
			answer collects -1ms
			after 80ms                       -> take 5 3x1, n 3 collects
			answer collects -1ms
			after 80ms                       -> take 6 3x1, n 3 collects
			answer collects -1ms
			after 80ms                       -> take 7 3x1, n 3
			answer -1
			message
			b locks n 1
			after 499ms
			after 1ms                        -> take 8 3x1,1x1,
			answer -1
			after 500ms                      -> take 9 3x1,1x1, n 3 collects
			answer joins -1ms
			told 0                           -> take 10 3x1,1x1, n 3 collects
			answer collects -1ms
			after 400ms                      -> (80ms) take 11 3x1,1x1, n 3 collects
			answer collects -1ms             -> take 12 3x1,1x1, n 3 collects
			answer collects -1ms
			after 80ms                       -> take 13 3x1,1x1, n 3 collects
			answer collects -1ms
			after 80ms                       -> take 14 3x1,1x1, n 3`,
		"one that rests takes its place when its first waiter wants one permit": called + `
			after 300ms                      -> (80ms) take 4 3x1, n 3 collects
			answer collects -1ms             -> take 5 3x1, n 3
			answer -1
			b locks n 1
			a goes                           -> a: is not there; take 6 1x1, n 1`,
		"one that others come before collects anew": called + `
			after 80ms                       -> take 4 3x1, n 3 collects
			answer is-first -1ms
			after 499ms
			after 1ms                        -> take 5 3x1, n 3 collects
			answer collects -1ms             -> subscribe redisson_sc:{stock}
			after 80ms                       -> take 6 3x1, n 3 collects`,
		"who wants one does not": `
			a locks n 1                      -> take 1 1x1,
			answer -1                        -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 1x1, n 1`,
	})
}

// Who asks for permits of a semaphore that is not there is told so, also when it gives up or comes while others wait.
func TestNoSemaphoreIsToldScenes(t *testing.T) {
	for kind, ask := range map[Kind]string{SemaphoreKind: "take 1 1x1,", PermitKind: "permit take 1 1x1x1000,"} {
		playScenes(t, kind, map[string]string{
			"a try": `
			a locks try                      -> ` + ask + `
			answer absent                    -> a: taken for who knows how long, absent`,
			"one that waits, and a try behind it": `
			a locks                          -> ` + ask + `
			answer absent                    -> subscribe redisson_sc:{stock}:wheellock:u
			b locks try                      -> b: taken for who knows how long, absent
			a times-out                      -> a: timed out, last taken for who knows how long, absent`,
		})
	}
}

// So many holds are taken and given back by so few calls, and no event walks through them.
func TestManyPermitsTakeFewCalls(t *testing.T) {
	const n = 20_000
	b := newBench(t, PermitKind, time.Second)
	calls := make(map[Op]int)
	b.answer = func(c *Command) {
		calls[c.Op]++
		well(c)
	}
	users := make([]*benchUser, n)
	for i := range users {
		users[i] = b.ask(nil)
	}
	b.run(300 * b.rtt)
	if held, most := b.cfg.Stats.Held.Load(), n/mostServed+3; held != n || calls[PermitTake] > most {
		t.Fatalf("%d holds after %d calls, want %d after %d at most", held, calls[PermitTake], n, most)
	}
	for _, u := range users {
		b.step(func(m Machine) { m.Unlock(b.now, &u.hold, nil, &b.fx) })
	}
	b.run(600 * b.rtt)
	if most := n/mostPermits + 3; calls[PermitFree] > most || !b.entry.Machine.Idle() {
		t.Errorf("idle %t after %d releases, want %d at most", b.entry.Machine.Idle(), calls[PermitFree], most)
	}
}

// One call frees up to 1000 permits, those that are given by their ids among them. If some are not there it frees none, and then each caller is told
// what became of its own; if answers were lost, what is not there counts as freed by the copy before.
// invariant: change-has-one-effect
func TestManyPermitsAreFreedTogether(t *testing.T) {
	const lost, n = 49, 100
	for what, lose := range map[string]bool{"all answers come": false, "each answer is lost once": true} {
		b := newBench(t, PermitKind, time.Second)
		var freed []string
		receipts := make(map[uint64]scripts.Reply)
		b.answer = func(c *Command) {
			well(c)
			if c.Op != PermitFree {
				return
			}
			holds := strings.Split(strings.TrimSuffix(string(c.Args.PermitFree().Holds), ";"), ";")
			for k, hold := range holds {
				if first, _, _ := strings.Cut(hold, ","); first == strconv.Itoa(lost) {
					c.Reply &^= map[bool]scripts.Reply{true: 1, false: 1 << k}[len(holds) > mostHolds]
				}
			}
			if answer, before := receipts[c.ID]; before {
				c.Reply = answer
			} else if receipts[c.ID] = c.Reply; lose {
				c.Result = Unknown
				return
			}
			freed = append(freed, fmt.Sprint(len(holds)))
		}
		var users []*benchUser
		for range n {
			users = append(users, b.ask(nil))
		}
		b.run(10 * b.rtt)
		b.step(func(m Machine) { m.(*Sequencer).Change(b.now, ChangeCount(PermitAdd, 1), &b.fx) }) // the others come while it is on its way
		outs := make([]*benchUser, n+10)
		for i := range outs {
			outs[i] = &benchUser{b: b}
			b.step(func(m Machine) {
				if i < n {
					m.Unlock(b.now, &users[i].hold, outs[i], &b.fx)
					return
				}
				ids := PermitFreeArgs{IDs: scripts.PermitIDs(strings.Repeat("x", 16))}
				m.(*Sequencer).Change(b.now, Change{Op: PermitFree, Args: ids.Args(), Numbers: []uint64{0}, Ack: outs[i]}, &b.fx)
			})
		}
		b.run(500 * time.Millisecond)
		for i, u := range outs {
			if want := map[bool]Why{true: Lost, false: Granted}[i == lost-1 && !lose]; u.out == nil || u.out.Why != want {
				t.Errorf("%s: caller %d was told %+v, want %v", what, i+1, u.out, want)
			}
		}
		if calls := strings.Join(freed, " "); calls != "110 48 48 14" {
			t.Errorf("%s: the calls freed %s, want 110 48 48 14", what, calls)
		}
	}
}

// A has what a limit of two leaves it, and B waits for the same.
const limitReached = `
			a locks of 2                     -> permit take 1 1x1x1000,/2
			answer 1                         -> a: granted until 990ms
			b locks of 2                     -> permit take 2 1x1x1000,/2
			answer held 990ms                -> subscribe redisson_sc:{stock}:wheellock:u`

// A limit travels with the question for its caller, and the last one that a caller had counts for all that wait with one.
// invariant: limit-counts-all-holds
// invariant: handoff-only-while-fresh
func TestLimitScenes(t *testing.T) {
	playScenes(t, PermitKind, map[string]string{
		"one of a try that callers come before counts for them": `
			a locks of 2                     -> permit take 1 1x1x1000,/2
			answer held 500ms                -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 2 1x1x1000,/2 n 1
			answer joins 500ms
			b locks of 5 try                 -> b: taken for who knows how long; permit take 3 1x1x1000,/5 n 1
			answer 1                         -> a: granted until 990ms`,
		"while they are fresh, permits pass from holder to waiter here, and then through Redis": limitReached + `
			c locks of 2
			a unlocks                        -> b: granted until 990ms, handed on; a ok: granted
			a unlocks                        -> a ok: lost
			after 9ms
			b unlocks                        -> c: granted until 990ms, handed on; b ok: granted
			handoffs                         -> 2
			d locks of 2                     -> permit take 3 1x1x1000,/2
			answer held 990ms
			after 1ms
			c unlocks                        -> permit free 4 1,1,0; n 1
			answer 1                         -> c ok: granted; permit take 5 1x1x1000,/2`,
		"they pass over a caller who has gone, and a question that was for more is asked again": `
			a locks of 2                     -> permit take 1 1x1x1000,/2
			answer 1                         -> a: granted until 990ms
			b locks of 2                     -> permit take 2 1x1x1000,/2
			b leaves
			c locks of 2
			d locks n 2 of 2
			answer held 990ms                -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 3 1x2x1000,2x1x1000,/2 n 1
			a unlocks                        -> b: is not there; c: granted until 990ms, handed on; a ok: granted
			answer joins 990ms               -> permit take 7 2x1x1000,/2 n 1 collects`,
		"not so after what may have ended them": limitReached + `
			suspect                          -> permit renew 3 1,1,1000; 1s
			answer 1                         -> permit take 4 1x1x1000,/2
			a unlocks
			answer held 990ms                -> permit free 5 1,1,0; n 1`,
		"not so where others free permits without a call": `
			a locks of 2                     -> permit take 1 1x1x1000,/2
			answer held 800ms                -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 2 1x1x1000,/2 n 1
			answer joins-as-first 800ms
			after 600ms                      -> (500ms) permit take 3 1x1x1000,/2 n 1
			answer 1                         -> a: granted until 1.49s
			b locks of 2                     -> permit take 4 1x1x1000,/2 n 1
			answer held 500ms                -> subscribe redisson_sc:{stock}
			a unlocks                        -> permit free 5 3,1,0; n 1`,
		"not so after the link broke": limitReached + `
			link-breaks
			a unlocks                        -> permit free 3 1,1,0; n 1`,
		"only to who wants the same number, by the same limit and the same lease, and waits": `
			a locks of 2                     -> permit take 1 1x1x1000,/2
			answer 1                         -> a: granted until 990ms
			b locks n 2 of 2                 -> permit take 2 2x1x1000,/2
			a unlocks
			answer held 990ms                -> permit free 4 1,1,0; n 1; subscribe redisson_sc:{stock}:wheellock:u
			answer 1                         -> a ok: granted; permit take 5 2x1x1000,/2
			answer 1                         -> b: granted until 990ms
			c locks n 2 of 3                 -> permit take 7 2x1x1000,/3
			b unlocks
			answer held 990ms                -> permit free 9 5,2,0; n 2
			answer 1                         -> b ok: granted; permit take 10 2x1x1000,/3
			answer 1                         -> c: granted until 990ms
			d locks n 2 of 3 lease 500ms     -> permit take 12 2x1x500,/3
			c unlocks
			answer held 990ms                -> permit free 14 10,2,0; n 2
			answer 1                         -> c ok: granted; permit take 15 2x1x500,/3
			answer 1                         -> d: granted until 495ms
			e locks n 2 of 3 try             -> permit take 17 2x1x1000,/3
			d unlocks
			answer held 990ms                -> e: taken for 990ms; permit free 19 15,2,0; n 2`,
		"not so after a renewal without success, so that no hold is at risk without a warning": `
			a locks of 2                     -> permit take 1 1x1x1000,/2
			stall 500ms
			answer 1                         -> a: granted until 990ms; permit renew 2 1,1,1000; 1s
			b locks of 2
			answer fault 2                   -> a at risk: refused (fault 2) for now; permit take 3 1x1x1000,/2
			a unlocks
			answer held 490ms                -> permit free 4 1,1,0; n 1; subscribe redisson_sc:{stock}:wheellock:u`,
		"not so when another limit is the last one here": `
			a locks of 5                     -> permit take 1 1x1x1000,/5
			answer 1                         -> a: granted until 990ms
			b locks of 5                     -> permit take 2 1x1x1000,/5
			answer held 990ms                -> subscribe redisson_sc:{stock}:wheellock:u
			c locks of 2                     -> permit take 3 1x2x1000,/2
			answer held 990ms
			a unlocks                        -> permit free 5 1,1,0; n 1`,
		"those that have passed on are not freed by ids of the hold before": limitReached + `
			x changes permit-free 1 9        -> permit free 3 0,1,0;id-0000000000009 next 16 n 1
			a unlocks                        -> b: granted until 990ms, handed on; a ok: granted
			answer 1                         -> x ok: granted
			b unlocks                        -> permit free 4 1,1,0; n 1`,
		"the oldest is not the first when its permits have passed on": `
			handoff-time 500ms
			a locks of 2                     -> permit take 1 1x1x1000,/2
			b locks of 2
			answer 1                         -> a: granted until 990ms; permit take 2 1x1x1000,/2
			answer 1                         -> b: granted until 990ms
			c locks of 2                     -> permit take 3 1x1x1000,/2
			answer held 990ms                -> subscribe redisson_sc:{stock}:wheellock:u
			after 300ms
			a unlocks                        -> c: granted until 990ms, handed on; a ok: granted
			oldest                           -> 0s`,
		"a question for a caller without one is without it": `
			a locks of 2                     -> permit take 1 1x1x1000,/2
			answer 1                         -> a: granted until 990ms
			b locks n 999                    -> permit take 2 999x1x1000,
			c locks n 2 of 2
			answer held 500ms                -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 1001 999x1x1000, n 999 collects`,
	})
}
