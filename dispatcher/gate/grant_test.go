package gate

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// invariant: released-owner-is-dead
func TestGrant(t *testing.T) {
	t.Run("a free name is granted by the answer, and counts from when the question left", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		c := a.lock()
		c.wantWaiting()
		ask := a.expect(Acquire)
		ask.send()
		sent := a.now()
		w.pass(40 * time.Millisecond)
		ask.answer()
		c.wantAnswer(Granted)
		w.want(c.hold.Deadline() == sent+time.Second-10*time.Millisecond, "deadline %v after sending; it is %v", 990*time.Millisecond, c.hold.Deadline()-sent)
		c.unlock()
		c.wantHeldBack()
		a.expect(Release).answer()
		c.released.want(Granted)
		w.settle()
	})
	t.Run("every tenure has an owner of its own", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		seen := make(map[uint64]bool)
		for range 5 {
			c := a.lock()
			a.expect(Acquire).answer()
			w.want(!seen[c.hold.Tenure], "a fresh tenure, not %d again", c.hold.Tenure)
			seen[c.hold.Tenure] = true
			c.unlock()
			a.expect(Release).answer()
		}
		w.settle()
	})
	t.Run("whose caller has gone goes to the next", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		first, second, third := a.lock(), a.lock(), a.lock()
		ask := a.expect(Acquire)
		ask.run()
		first.cancel()
		second.leave() // the machine does not know yet
		ask.answer()
		third.wantAnswer(Granted)
		second.abandon()
		w.settle()
	})
	t.Run("whose callers have all gone is released", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		first, second := a.lock(), a.lock()
		first.cancel()
		second.leave()
		a.expect(Acquire).answer()
		a.expect(Release).answer()
		w.want(w.redis.owner(stock) == "", "the name to be free")
		second.abandon()
		w.settle()
	})
	t.Run("that is read after its own deadline is not handed out", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		c := a.lock()
		ask := a.expect(Acquire)
		ask.run()
		w.pass(990 * time.Millisecond)
		ask.answer()
		c.wantWaiting()
		w.want(a.expect(Release).ID == ask.ID, "that tenure to be released")
		a.expect(Release).answer()
		a.silent() // it would be too late again at once
		w.want(a.await(Acquire).ID != ask.ID, "a fresh one to be asked for")
		a.expect(Acquire).answer()
		c.wantAnswer(Granted)
		w.settle()
	})
	t.Run("one that came too late for the server is asked for again", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		c := a.lock()
		ask := a.expect(Acquire)
		ask.send()
		w.pass(LateWindow + time.Millisecond)
		ask.answer()
		c.wantWaiting()
		a.expect(Acquire).answer()
		c.wantAnswer(Granted)
		w.settle()
	})
	t.Run("a fault that will not pass is told to everybody who waits", func(t *testing.T) {
		for _, f := range []scripts.Fault{scripts.NoPerm, scripts.Other} {
			w := newWorld(t)
			a := w.newProcess("A")
			first, second := a.lock(), a.lock()
			a.expect(Acquire).fail(f)
			first.wantAnswer(Refused)
			second.wantAnswer(Refused)
			w.want(first.out.Fault == f, "fault %v; it is %v", f, first.out.Fault)
			w.settle()
		}
	})
	t.Run("a key of another kind is told as such", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		c := a.lock()
		a.expect(Acquire).fail(17)
		c.wantAnswer(Foreign)
		w.settle()
	})
	t.Run("a fault that passes keeps those waiting who wait", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		c := a.lock()
		a.expect(Acquire).again()
		for _, f := range []scripts.Fault{scripts.ReadOnly, scripts.OutOfMem, scripts.Misconf, scripts.NoReplicas, scripts.Moving} {
			a.await(Acquire).fail(f)
			c.wantWaiting()
		}
		a.await(Acquire).answer()
		c.wantAnswer(Granted)
		w.settle()
	})
	t.Run("a server that denies is told in its own words", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		c := a.lock()
		a.expect(Acquire).denied()
		c.wantAnswer(Refused)
		w.want(c.out.ServerMessage != "", "the server's words")
		w.settle()
	})
	t.Run("with the link down waits for the link", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		c := a.lock()
		a.expect(Acquire).notSent()
		w.after(100 * time.Millisecond)
		a.silent()
		a.linkUp()
		a.expect(Acquire).answer()
		c.wantAnswer(Granted)
		w.settle()
	})
}

// wantHeldBack says that the Unlock waits for the answer to its release.
func (c *caller) wantHeldBack() {
	c.from.world.want(len(c.released.heard) == 0, "Unlock to wait for Redis; heard %+v", c.released.heard)
}
