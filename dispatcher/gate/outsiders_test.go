package gate

import (
	"testing"
	"time"
)

// TestOthersListen: other listeners make us leave the name free for a pause. That there are none proves nothing.
// invariant: others-get-a-turn
func TestOthersListen(t *testing.T) {
	playWorld(t, "a confirmation that finds others is the last of its turn", func(w *world) {
		a, holder, next := heldBy(w, 2)
		b := w.newProcess("B")
		w.redis.subscribe(stockChannel, b)
		a.age()
		holder.unlock()
		a.expect(Confirm).answer()
		a.expect(Release).answer()
		a.silent() // a pause
		next[0].wantWaiting()
		w.after(shortestPause)
		a.expect(Acquire).answer()
		next[0].wantAnswer(Granted)
		w.redis.unsubscribe(stockChannel, b)
		b.messages = nil
	})
	playWorld(t, "one that was found before does not end the turn at once", func(w *world) {
		a, holder, next := heldBy(w, 9)
		b := w.newProcess("B")
		w.redis.subscribe(stockChannel, b)
		turns := 0
		for _, c := range next {
			w.after(100 * time.Millisecond)
			holder.unlock()
			if a.outbox[0].Op == Confirm {
				a.expect(Confirm).answer()
			}
			if !c.answered {
				turns++
				a.expect(Release).answer()
				w.after(pollWindow)
				a.expect(Acquire).answer()
			}
			c.wantAnswer(Granted)
			holder = c
		}
		w.want(turns > 1 && turns < len(next)/2, "few turns of %d grants; there were %d", len(next), turns)
		w.redis.unsubscribe(stockChannel, b)
		b.messages = nil
	})
	playWorld(t, "we are no others when we listen in both of Redis' name spaces", func(w *world) {
		w.redis.take(stock, "java:1", time.Minute)
		a := w.newProcess("A")
		holder, second, third := a.lock(), a.lock(), a.lock()
		a.expect(Acquire).answer()
		a.subscribe()
		a.expect(Acquire).answer()
		a.subscribe()
		w.redis.echo = 2 // a message comes by each, but the scripts count who listens in both once
		a.expect(Acquire).answer()
		w.redis.free(stock, "java:1")
		a.listen()
		a.expect(Acquire).answer()
		a.listen() // the same message, as it came by the other name space
		a.settleAll()
		a.age()
		holder.unlock()
		a.expect(Confirm).answer()
		second.wantAnswer(Granted)
		a.cfg.HandoffTime = 0
		second.unlock()
		a.expect(Release).answer()
		a.expect(Acquire).answer() // at once: there is nobody to leave it to
		third.wantAnswer(Granted)
	})
	playWorld(t, "no message shortens a pause", func(w *world) {
		a, _ := listeningTo(w)
		b := w.newProcess("B")
		w.redis.subscribe(stockChannel, b)
		second := a.lock()
		a.cfg.RTT = 100 * time.Millisecond
		w.redis.free(stock, "java:1")
		a.listen()
		a.expect(Acquire).answer()
		a.age()
		a.callers[0].unlock()
		a.expect(Confirm).answer()
		a.expect(Release).answer()
		met := &a.entry(stock).Machine.(*Lock).contest.rivals.turns.met
		w.after(time.Millisecond)
		a.listen() // our own
		a.silent()
		w.want(*met < a.now(), "our own message is not of others")
		w.redis.take(stock, "java:2", time.Second)
		w.redis.free(stock, "java:2")
		a.listen()
		a.silent()
		w.want(*met == a.now(), "others were met")
		w.after(2 * a.cfg.RTT)
		a.expect(Acquire).answer()
		second.wantAnswer(Granted)
		w.redis.unsubscribe(stockChannel, b)
		b.messages = nil
	})
	playWorld(t, "a turn has an end even when nobody is heard", func(w *world) {
		a, holder, next := heldBy(w, 100)
		began := w.now
		for _, c := range next {
			a.age()
			holder.unlock()
			if a.outbox[0].Op == Confirm {
				a.expect(Confirm).answer()
			}
			if len(a.outbox) > 0 {
				break
			}
			c.wantAnswer(Granted)
			holder = c
		}
		a.expect(Release).answer()
		turn := w.now - began
		w.want(turn >= longestTurn && turn <= longestTurn+3*a.cfg.HandoffTime, "a turn of %v; it was %v", longestTurn, turn)
		a.silent()
		w.after(blindPause)
		a.expect(Acquire)
	})
}

// heldBy is a process with a hold, just granted, and so many waiters.
func heldBy(w *world, waiters int) (a *process, holder *caller, waiting []*caller) {
	a = w.newProcess("A")
	holder = a.lock()
	for range waiters {
		waiting = append(waiting, a.lock())
	}
	a.expect(Acquire).answer()
	holder.wantAnswer(Granted)
	return a, holder, waiting
}

// age has a tenure confirmed so late that it has to ask before it is handed on.
func (a *process) age() { a.world.after(a.cfg.HandoffTime) }

// refused is a process with one caller whose first question was refused: somebody else holds the name for a
// minute. It has asked to listen.
func refused(w *world) (*process, *caller) {
	w.redis.take(stock, "java:1", time.Minute)
	a := w.newProcess("A")
	c := a.lock()
	a.expect(Acquire).answer()
	c.wantWaiting()
	return a, c
}

// listeningTo is the same, once it stands in line, listens to the channel of an owner outside, and has asked again.
func listeningTo(w *world) (*process, *caller) {
	a, c := refused(w)
	for range 2 {
		a.subscribe()
		a.expect(Acquire).answer()
	}
	a.silent()
	return a, c
}

// settleAll answers what is in flight until nothing is.
func (p *process) settleAll() {
	for len(p.outbox) > 0 {
		p.outbox[0].answer()
	}
}
