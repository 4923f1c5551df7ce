package gate

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// uncertain is a process whose first question got no answer. Its lease is long, so that a key left behind stays.
func uncertain(w *world, ran bool) (*process, *caller, *inFlightCommand) {
	a := w.newProcess("A")
	a.cfg.LeaseTime = time.Minute
	c := a.lock()
	ask := a.expect(Acquire)
	if ran {
		ask.run()
	}
	ask.lose()
	c.wantWaiting()
	return a, c, ask
}

// settleAll answers what is in flight until nothing is.
func (p *process) settleAll() {
	for len(p.outbox) > 0 {
		p.outbox[0].answer()
	}
}

// invariant: late-acquire-does-nothing
func TestUncertainAcquire(t *testing.T) {
	for _, ran := range []bool{true, false} {
		name := map[bool]string{true: "that ran", false: "that did not run"}[ran]
		t.Run(name+" stays that owner's while the link is down, or the server busy", func(t *testing.T) {
			for _, fail := range []func(*inFlightCommand){(*inFlightCommand).notSent, (*inFlightCommand).again, func(c *inFlightCommand) { c.fail(scripts.ReadOnly) }} {
				w := newWorld(t)
				a, c, ask := uncertain(w, ran)
				w.after(retryPause)
				fail(a.expect(Acquire))
				w.after(LateWindow + time.Second)
				for _, sent := range a.outbox {
					w.want(sent.ID == ask.ID, "the same owner")
				}
				a.linkUp()
				a.settleAll()
				c.wantAnswer(Granted)
				w.want(c.hold.Tenure == ask.ID, "the same owner")
				w.settle()
			}
		})
		t.Run(name+" is released when everybody was turned away", func(t *testing.T) {
			for _, fail := range []func(*inFlightCommand){(*inFlightCommand).denied, func(c *inFlightCommand) { c.fail(scripts.NoPerm) }} {
				w := newWorld(t)
				a, c, ask := uncertain(w, ran)
				w.after(LateWindow + time.Second) // longer than it may still arrive
				fail(a.expect(Acquire))
				c.wantAnswer(Refused)
				w.want(a.await(Release).ID == ask.ID, "that owner's release")
				a.expect(Release).answer()
				w.want(w.redis.owner(stock) == "", "a free name")
				w.settle()
			}
		})
	}
	playWorld(t, "that was refused meanwhile is over, but for the copy that may still arrive", func(w *world) {
		a, c, ask := uncertain(w, false)
		w.redis.take(stock, "java:1", 100*time.Millisecond)
		w.after(retryPause)
		a.expect(Acquire).answer()
		c.wantWaiting()
		c.cancel()
		w.after(time.Second)
		ask.run() // the copy arrives: java has gone
		w.want(w.redis.owner(stock) != "", "a ghost")
		w.after(LateWindow + time.Second)
		w.want(a.expect(Release).ID == ask.ID, "the ghost's release")
		a.expect(Release).answer()
		w.want(w.redis.owner(stock) == "", "a free name")
	})
	playWorld(t, "is not settled by an answer to what left before its copy can have arrived", func(w *world) {
		a, c, ask := uncertain(w, false)
		w.after(retryPause)
		a.expect(Acquire).answer()
		c.wantAnswer(Granted)
		w.pass(LateWindow - 2*retryPause)
		c.unlock()
		release := a.expect(Release)
		release.run()
		w.pass(retryPause / 2)
		ask.run() // at the last moment, after the release
		w.want(w.redis.owner(stock) != "", "a ghost")
		w.pass(time.Second)
		release.answer()
		w.after(time.Second)
		w.want(a.expect(Release).ID == ask.ID, "the ghost's release")
		a.expect(Release).answer()
		w.want(w.redis.owner(stock) == "", "a free name")
	})
	playWorld(t, "leaves a ghost that is given up when its lease has run out", func(w *world) {
		a, c, _ := uncertain(w, false)
		w.after(retryPause)
		a.expect(Acquire).answer()
		c.unlock()
		a.expect(Release).answer()
		for range 1000 {
			w.after(longestPause)
			if len(a.entries) == 0 {
				break
			}
			for len(a.outbox) > 0 {
				a.outbox[0].denied()
			}
		}
		w.want(len(a.entries) == 0, "no machine left")
		w.want(w.now < a.cfg.LeaseTime+10*time.Second, "about a lease; it took %v", w.now)
	})
}

// invariant: released-owner-is-dead
func TestUncertainRelease(t *testing.T) {
	held := func(w *world) (*process, *caller, *inFlightCommand) {
		a, holder, _ := heldBy(w, 0)
		holder.unlock()
		return a, holder, a.expect(Release)
	}
	playWorld(t, "first sent after the deadline is not: the lease was lost", func(w *world) {
		a, holder, release := held(w)
		w.pass(a.cfg.LeaseTime)
		release.lose()
		holder.released.want(Doubtful)
		w.after(2 * a.cfg.LeaseTime)
	})
	playWorld(t, "that was never sent before the key went is a loss", func(w *world) {
		w.lossy = true
		a, holder, release := held(w)
		release.notSent()
		w.redis.free(stock, w.redis.owner(stock))
		a.linkUp()
		a.expect(Release).answer()
		holder.released.want(Lost)
	})
	playWorld(t, "is given up when the lease has surely run out, and the next question is asked", func(w *world) {
		a, holder, _ := heldBy(w, 0)
		holder.unlock()
		next := a.lock()
		for a.outbox[0].Op == Release {
			a.outbox[0].again()
			for len(a.outbox) == 0 {
				w.after(retryPause)
			}
		}
		w.want(w.redis.owner(stock) == "", "the key to have run out")
		a.expect(Acquire).answer()
		next.wantAnswer(Granted)
	})
	playWorld(t, "that may not publish has freed the name", func(w *world) {
		_, holder, release := held(w)
		release.run()
		release.Reply = scripts.PublishDenied
		release.answer()
		holder.released.want(Granted)
	})
}
