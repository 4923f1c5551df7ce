package gate

import (
	"testing"
	"time"
)

// TestLoss: a hold whose deadline has passed is over, told before its key is freed, and never revived.
// invariant: loss-is-final
func TestLoss(t *testing.T) {
	playWorld(t, "at the deadline ends the hold, then releases, then asks afresh", func(w *world) {
		a, holder, next := heldBy(w, 1)
		w.after(a.cfg.LeaseTime / 3)
		renewal := a.expect(Renew)
		w.after(holder.hold.Deadline() - a.now() - 1)
		holder.wantHolding()
		w.after(1)
		holder.wantEnd(Lost) // that it came before the release is a rule of the world
		renewal.lose()
		w.want(a.expect(Release).ID == holder.hold.Tenure, "the release of what is lost")
		a.expect(Release).answer()
		w.want(a.expect(Acquire).ID != holder.hold.Tenure, "a fresh tenure")
		a.expect(Acquire).answer()
		next[0].wantAnswer(Granted)
	})
	playWorld(t, "frees also what a late renewal has kept in Redis", func(w *world) {
		a, holder, next := heldBy(w, 1)
		w.after(a.cfg.LeaseTime / 3)
		renewal := a.expect(Renew)
		renewal.send()
		w.after(a.cfg.LeaseTime * 2 / 3) // lost here, not yet there
		holder.wantEnd(Lost)
		renewal.run()
		w.after(a.cfg.LeaseTime / 2)
		renewal.answer()
		w.want(a.expect(Release).ID == holder.hold.Tenure, "the release of what is lost")
		a.expect(Release).answer()
		a.expect(Acquire).answer()
		next[0].wantAnswer(Granted)
	})
	playWorld(t, "comes not after Unlock", func(w *world) {
		_, holder, _ := heldBy(w, 0)
		holder.unlock()
		w.after(5 * time.Second)
		w.want(!holder.over, "no end besides Unlock")
	})
	playWorld(t, "an Unlock that the machine hears after it is lost", func(w *world) {
		a, holder, _ := heldBy(w, 0)
		holder.stop()
		w.pass(a.cfg.LeaseTime)
		holder.hold.Entry.Machine.NextAlarm()
		holder.from.step(holder.hold.Entry, func(m Machine, now Time, fx *Effects) { m.Wake(now, fx) }, "is woken")
		holder.unlockHeard()
		holder.released.want(Lost)
	})
}

// TestFixedLease: what ends by its own lease is released, not left to its TTL.
// invariant: handoff-keeps-lease
func TestFixedLease(t *testing.T) {
	playAlone(t, "is not renewed", func(w *world, a *process) {
		a.ask(stock, wants{lease: 10 * time.Second})
		a.expect(Acquire).answer()
		w.after(9 * time.Second)
		a.silent()
	})
}

func TestMaxHold(t *testing.T) {
	playAlone(t, "ends a watched hold, and releases", func(w *world, a *process) {
		a.cfg.MaxHold = 500 * time.Millisecond
		c := a.lock()
		next := a.lock()
		a.expect(Acquire).answer()
		w.after(400 * time.Millisecond)
		a.expect(Renew).answer()
		w.after(100*time.Millisecond - 1)
		c.wantHolding()
		w.after(1)
		c.wantEnd(TooLong)
		a.expect(Release).answer()
		a.expect(Acquire).answer()
		next.wantAnswer(Granted)
	})
	playAlone(t, "counts for each hold, not for the tenure", func(w *world, a *process) {
		a.cfg.MaxHold = 500 * time.Millisecond
		holder, next := a.lock(), a.lock()
		a.expect(Acquire).answer()
		w.after(400 * time.Millisecond)
		a.settleAll()
		holder.unlock()
		a.settleAll()
		next.wantAnswer(Granted)
		w.after(300 * time.Millisecond)
		next.wantHolding()
		w.after(200 * time.Millisecond)
		next.wantEnd(TooLong)
	})
	playAlone(t, "leaves a fixed lease alone", func(w *world, a *process) {
		a.cfg.MaxHold = 500 * time.Millisecond
		c := a.ask(stock, wants{lease: time.Second})
		a.expect(Acquire).answer()
		w.after(900 * time.Millisecond)
		c.wantHolding()
	})
}

func TestTimeout(t *testing.T) {
	for name, last := range map[string]struct {
		fail func(*inFlightCommand)
		why  Why
	}{"lost": {(*inFlightCommand).lose, Doubtful}, "not sent": {(*inFlightCommand).notSent, Down}, "answered LOADING": {(*inFlightCommand).again, Refused}} {
		playWorld(t, "says why when the last answer was "+name, func(w *world) {
			w.redis.take(stock, "java:1", 10*time.Millisecond)
			a := w.newProcess("A")
			c := a.ask(stock, wants{wait: 100 * time.Millisecond})
			a.expect(Acquire).answer()
			a.subscribe()
			last.fail(a.expect(Acquire))
			w.after(15 * time.Millisecond)
			w.pass(100 * time.Millisecond)
			for w := range a.cfg.Waits.Due(1 << 40) {
				a.step(w.Entry, func(m Machine, now Time, fx *Effects) { m.EndWait(now, w, TimedOut, fx) }, "gives up")
			}
			c.wantAnswer(TimedOut)
			w.want(c.out.Last == last.why, "the last answer, %s; it is %s", whyNames[last.why], whyNames[c.out.Last])
			w.want(last.why != Refused || c.out.ServerMessage != "", "the words of the server")
		})
	}
}
