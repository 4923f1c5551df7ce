package gate

import (
	"slices"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// TestReplicas: what too few replicas have does not count.
// invariant: replicas-acknowledge
func TestReplicas(t *testing.T) {
	playAlone(t, "a try that took the lock alone gives it back and is told", func(w *world, a *process) {
		c := a.tryLock()
		a.expect(Acquire).alone()
		c.wantAnswer(NotReplicated)
		a.expect(Release).answer()
		w.want(w.redis.owner(stock) == "", "a free name")
	})
	playAlone(t, "a wait that took it alone gives it back, and asks again after a pause, as another owner", func(w *world, a *process) {
		c := a.lock()
		first := a.expect(Acquire)
		first.alone()
		c.wantWaiting()
		a.expect(Release).answer()
		w.want(w.redis.owner(stock) == "", "a free name meanwhile")
		a.silent()
		w.after(retryPause)
		again := a.expect(Acquire)
		w.want(again.ID != first.ID, "a fresh owner")
		again.answer()
		c.wantAnswer(Granted)
	})
	playAlone(t, "a wait that ends meanwhile says why there is no lock", func(w *world, a *process) {
		c := a.ask(stock, wants{wait: 50 * time.Millisecond})
		a.expect(Acquire).alone()
		a.expect(Release).answer()
		w.pass(60 * time.Millisecond)
		a.ring()
		c.wantAnswer(TimedOut)
		w.want(c.out.Last == NotReplicated, "the last answer is %s", whyNames[c.out.Last])
	})
	playWorld(t, "a renewal does not move the deadline, and is asked for again", func(w *world) {
		a, holder, _ := heldBy(w, 0)
		deadline := holder.hold.Deadline()
		w.after(a.cfg.LeaseTime / 3)
		a.expect(Renew).alone()
		w.want(holder.hold.Deadline() == deadline, "the deadline to stay")
		a.silent()
		w.after(a.cfg.LeaseTime / 10)
		a.expect(Renew).answer()
		w.want(holder.hold.Deadline() > deadline, "the deadline to move")
	})
	playWorld(t, "renewals until the deadline end the hold, and its key is freed", func(w *world) {
		a, holder, _ := heldBy(w, 0)
		for !holder.over {
			w.after(time.Millisecond)
			if len(a.outbox) > 0 && a.outbox[0].Op == Renew {
				a.outbox[0].alone()
			}
		}
		holder.wantEnd(Lost)
		w.want(w.redis.owner(stock) != "", "the key, which the renewals kept")
		a.expect(Release).answer()
		w.want(w.redis.owner(stock) == "", "a free name")
	})
	playWorld(t, "a renewal prolongs the key all the same: it is freed for as long as it may stand", func(w *world) {
		a, holder, _ := heldBy(w, 0)
		w.after(a.cfg.LeaseTime / 3)
		a.expect(Renew).alone()
		for !holder.over {
			w.after(time.Millisecond)
			for len(a.outbox) > 0 {
				a.outbox[0].notSent()
			}
		}
		w.after(a.cfg.LeaseTime / 5) // past the deadline as it was, and the key stands
		w.want(w.redis.owner(stock) != "", "the key")
		a.linkUp()
		a.expect(Release).answer()
		w.want(w.redis.owner(stock) == "", "a free name")
	})
	playWorld(t, "nobody is handed a tenure that was confirmed alone", func(w *world) {
		a, holder, _ := heldBy(w, 0)
		next := a.lock()
		w.pass(2 * a.cfg.HandoffTime)
		holder.unlock()
		a.expect(Confirm).alone()
		next.wantWaiting()
		a.expect(Release).answer()
		w.after(retryPause)
		a.expect(Acquire).answer()
		next.wantAnswer(Granted)
	})
	playAlone(t, "a re-entry that needs more of the lease is told when it asks once, and waits else", func(w *world, a *process) {
		a.ask(stock, wants{owner: 7, lease: 200 * time.Millisecond})
		a.expect(Acquire).answer()
		once := a.ask(stock, wants{owner: 7, lease: 500 * time.Millisecond, try: true})
		waits := a.ask(stock, wants{owner: 7, lease: 500 * time.Millisecond})
		a.expect(Renew).alone()
		once.wantAnswer(NotReplicated)
		waits.wantWaiting()
		w.after(20 * time.Millisecond)
		a.expect(Renew).answer()
		waits.wantAnswer(Granted)
	})
	playAlone(t, "what was given back once slows nobody down after a grant that enough have", func(w *world, a *process) {
		a.cfg.HandoffTime = 0
		c, next := a.lock(), a.lock()
		a.expect(Acquire).alone()
		a.expect(Release).answer()
		w.after(retryPause)
		a.expect(Acquire).answer()
		c.unlock()
		a.expect(Release).answer()
		a.expect(Acquire).answer()
		next.wantAnswer(Granted)
	})
	playWorld(t, "a refusal needs no replicas", func(w *world) {
		w.redis.take(stock, "java:1", time.Minute)
		a := w.newProcess("A")
		c := a.tryLock()
		a.expect(Acquire).alone()
		c.wantAnswer(Taken)
		w.redis.free(stock, "java:1")
	})
}

// What gives or prolongs something counts only when replicas have it; what takes away, and what only looks, needs none.
func TestWhatReplicasMustHave(t *testing.T) {
	confirms := []Op{Renew, Confirm, RenewRead, RenewWrite, ConfirmRead, ConfirmWrite, Downgrade, PermitRenew, FairRelease,
		Adopt, Acquire, AcquireInLine, AcquireFenced, AcquireRead, AcquireWrite, AcquireWriteInLine, PermitTake, FairAsk, Take, AcquireSimple, AcquireSimpleInLine, RenewSimple, ConfirmSimple, AdoptSimple}
	for op := range Ops {
		if op.Confirms() != slices.Contains(confirms, op) {
			t.Errorf("%v: %v", op, op.Confirms())
		}
	}
	for _, c := range []struct {
		op    Op
		reply scripts.Reply
		gave  bool
	}{
		{Acquire, 1, true}, {Acquire, -500, false}, {Acquire, 0, false}, {Acquire, faultReply(1), false},
		{AcquireRead, 1, true}, {AcquireWrite, 1, true}, {AcquireFenced, 1 << 40, true},
		{Renew, 1, true}, {Renew, scripts.NotMine, false}, {RenewRead, 1, true}, {RenewWrite, 1, true},
		{Confirm, 0, true}, {Confirm, 3, true}, {Confirm, scripts.NotMine, false}, {Confirm, faultReply(1), false},
		{ConfirmRead, 0, true}, {ConfirmWrite, 0, true}, {ConfirmWrite, scripts.NotMine, false},
		{Downgrade, 0, true}, {Downgrade, scripts.PublishDenied, true}, {Downgrade, scripts.NotMine, false}, {Downgrade, faultReply(1), false},
		{FairRelease, scripts.Passed, true}, {FairRelease, 1, false}, {FairRelease, 0, false}, {FairRelease, scripts.NotMine, false},
		{FairAsk, 1, true}, {FairAsk, -500, false}, {Take, 2, true}, {Take, 0, false}, {PermitTake, 1, true}, {PermitTake, -500, false},
		{PermitRenew, 1, true}, {PermitRenew, 0, false}, {Release, 1, false}, {Give, 1, false}, {GetCount, 1, false}, {CountDown, 1, false},
	} {
		command := Command{Op: c.op, Result: Answered, Reply: c.reply}
		command.Unreplicated()
		if gave := command.Result == UnderReplicated; gave != c.gave {
			t.Errorf("%v answered %d: %v", c.op, c.reply, gave)
		}
		command.Result = Unknown
		if command.Unreplicated(); command.Result != Unknown {
			t.Errorf("%v without an answer became %v", c.op, command.Result)
		}
	}
}
