package gate

import (
	"testing"
	"time"
)

// What a name without owners takes for news, and when it believes a refusal.
func TestSequencerScenes(t *testing.T) {
	playScenes(t, SemaphoreKind, map[string]string{
		"a release that nobody heard has no message that comes back": waitsForFive + `
			x changes give 1                 -> give 3 n 1
			answer 0                         -> x ok: granted; take 4 5x1, n 5 collects
			answer 0
			message                          -> take 5 5x1, n 5 collects`,
		"releases without end keep nobody from asking": `
			a locks n 2                      -> take 1 2x1,
			x changes give 1
			y changes give 1
			answer 0                         -> give 2 n 2; subscribe redisson_sc:{stock}:wheellock:u
			z changes give 1
			answer 0                         -> x ok: granted; y ok: granted; give 3 n 1
			x changes give 1
			answer 0                         -> z ok: granted; take 4 2x1,
			y changes give 1
			answer 2                         -> a: granted; give 5 n 2`,
		"no refusal of writes hides what an earlier copy took": `
			a locks n 2                      -> take 1 2x1,
			lost
			after 3s                         -> (17ms) take 1 2x1, next 1
			answer fault 4
			after 1s                         -> (37ms) take 1 2x1, next 1
			answer 2                         -> a: granted`,
		"a closed engine listens to nothing": waitsForFive + `
			subscribed                       -> take 3 5x1, n 5 collects
			answer 0
			close                            -> a: closed
			idle                             -> true`,
		"one that was heard has, and it is our own": waitsForFive + `
			x changes give 1                 -> give 3 n 1
			answer 1                         -> x ok: granted 1; take 4 5x1, n 5 collects
			answer 0
			message                          -> take 5 5x1, n 5 collects
			message`,
		"a message that was taken for that of a release that was refused": waitsForFive + `
			x changes give 1                 -> give 3 n 1
			message
			denied NOPERM                    -> x ok: refused "NOPERM"; take 4 5x1, n 5 collects`,
		"a call that is sent again leaves before the receipt of its first copy may be gone": `
			after 1s
			x changes give 1                 -> give 1 n 1
			leaves-by                        -> any time
			lost
			after 40ms                       -> (17ms) give 1 n 1
			leaves-by                        -> 51s
			lost
			after 40ms                       -> (37ms) give 1 n 1
			leaves-by                        -> 51s
			answer 0                         -> x ok: granted
			y changes give 1                 -> give 2 n 1
			leaves-by                        -> any time`,
		"who waits hears what became of a release": `
			a locks n 5                      -> take 1 5x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			x changes give 1                 -> give 2 n 1
			again LOADING
			a times-out                      -> a: timed out, last refused for now "LOADING"`,
		"who is first now asks at once, whatever the one before slept for": waitsForFive + `
			message                          -> take 3 5x1, n 5 collects
			b locks n 2
			a goes                           -> a: is not there
			answer 0                         -> take 4 2x1, n 2 collects`,
		"a release that is refused for good is no answer to those who wait": `
			a locks n 5                      -> take 1 5x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			x changes give 1                 -> give 2 n 1
			answer fault 6                   -> x ok: refused (fault 6); take 3 5x1,
			answer 0
			x changes give 1                 -> give 4 n 1
			answer fault 6                   -> x ok: refused (fault 6); take 5 5x1,
			a times-out                      -> a: timed out, last taken for who knows how long, absent`,
		"who goes before Redis was asked for him changes nothing": waitsForFive + `
			b locks n 1
			b goes                           -> b: is not there`,
		"a release without an answer when the engine ends": `
			x changes give 1                 -> give 1 n 1
			lost
			end                              -> x ok: doubtful`,
		"a release that was refused for now when the engine ends": `
			x changes give 1                 -> give 1 n 1
			again LOADING
			end                              -> x ok: down`,
		"a change that fails while the link is down leaves nothing to be sent": `
			a locks n 5                      -> take 1 5x1,
			p changes add-permits 9
			not-sent                         -> p ok: down
			after 1s                         -> take 2 5x1,`,
	})
}

// Permits that were freed and of which nobody heard.
func TestAMessageAfterPermitsThatNobodyHeardOf(t *testing.T) {
	playScene(t, PermitKind, `
			a locks                          -> permit take 1 1x1x1000,
			answer 1                         -> a: granted until 990ms
			b locks                          -> permit take 2 1x1x1000,
			answer held 5s                   -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 3 1x1x1000, n 1
			answer held 5s                   -> subscribe redisson_sc:{stock}
			a unlocks                        -> permit free 4 1,1,0; n 1
			answer 1                         -> a ok: granted; permit take 5 1x1x1000, n 1
			answer held 5s
			message                          -> permit take 6 1x1x1000, n 1`)
}

// Who comes while others look at a latch is not let through by what they find, also if he has waited before.
func TestWhoWaitedBeforeLooksForHimself(t *testing.T) {
	b := newBench(t, LatchKind, time.Second)
	b.answer = func(c *Command) { c.Result, c.Reply = Answered, 0 }
	b.ask(nil)
	late := b.ask(func(w *Waiter) { w.asked = true })
	b.run(b.rtt)
	if late.out != nil {
		t.Error("let through by an answer to a question that left before")
	}
	if b.run(b.rtt); late.out == nil {
		t.Error("not let through by its own")
	}
}

// Who was told to wait is counted, also who does not.
func TestWaitsAreCounted(t *testing.T) {
	for kind, name := range kindNames {
		for _, try := range []bool{false, true} {
			if kind == LatchKind && try {
				continue
			}
			b := newBench(t, kind, time.Second)
			b.answer = func(c *Command) {
				c.Result, c.Reply = Answered, -5002
				switch c.Op {
				case Take:
					c.Reply = 0
				case GetCount:
					c.Reply = 1
				}
			}
			b.ask(func(w *Waiter) { w.Try = try })
			b.run(b.rtt)
			if n := b.cfg.Stats.Waits.Load(); n != 1 {
				t.Errorf("%s, try %v: %d waits were counted, want 1", name, try, n)
			}
		}
	}
}
