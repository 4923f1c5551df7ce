package elect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/internal/leaders"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/scripts"
)

// term is one term of this process. It has two locks, the mutex of the election and a second one. The token of the mutex is the
// term's number. Without the second lock two processes could lead for a third of a lease:
//
//  1. Somebody deletes the key of the mutex. The engine of its holder does not know that yet.
//  2. The next candidate gets the mutex and leads.
//  3. The old leader's engine renews, finds that the mutex is lost, and ends the context of lead.
//
// With it the next candidate waits in step 2 until the old leader has given the second lock back in step 3, or until
// that lock's lease has run out.
type term struct {
	el      *Election
	number  int64
	mutex   *engine.Hold
	second  *engine.Hold    // nil: not held yet
	ctx     context.Context // of lead; ends with either hold, with Run's context, or by end
	end     context.CancelCauseFunc
	keepers sync.WaitGroup

	over chan struct{} // closed when the locks are given back; then:
	err  error         // what is not known of it
}

// termKey is the key under which the context of lead has the term of an election.
type termKey struct{ el *Election }

// win waits until this process may lead. passes: to campaign again may help.
func (e *Election) win(ctx context.Context) (t *term, passes bool, err error) {
	t = &term{el: e, over: make(chan struct{})}
	if t.mutex, err = t.lock(ctx, e.e.FencedMutex(e.name)); err != nil {
		return nil, errors.Is(err, engine.ErrOverloaded), err
	}
	t.number, _ = t.mutex.Token()
	ctx, t.end = context.WithCancelCause(context.WithValue(ctx, termKey{t.el}, t))
	t.ctx = t.mutex.Context(ctx)
	if t.second, err = t.lock(t.ctx, e.e.Mutex(scripts.SuffixName(e.name, "leading"))); err == nil {
		t.ctx = t.second.Context(t.ctx)
		t.el.set(t) // once the note stands this process is the leader, and may resign
		passes, err = t.announce()
	}
	if err != nil {
		passes = passes || errors.Is(err, engine.ErrOverloaded) || t.ctx.Err() != nil
		t.giveBack()
		return nil, passes, err
	}
	return t, false, nil
}

// lock takes one of the two locks.
func (t *term) lock(ctx context.Context, l engine.Locker) (*engine.Hold, error) {
	lease := t.el.opts.Lease
	if lease == 0 {
		return l.Lock(ctx)
	}
	h, err := l.Lock(ctx, engine.WithLease(lease))
	if err == nil {
		t.keepers.Go(func() { keep(h, lease) })
	}
	return h, err
}

// keep renews a hold that has a lease of its own, until it ends.
func keep(h *engine.Hold, lease time.Duration) {
	tick := time.NewTicker(lease / 3)
	defer tick.Stop()
	held := h.Context(context.Background())
	for {
		select {
		case <-held.Done():
			return
		case <-tick.C:
			ctx, stop := context.WithTimeout(held, lease/3)
			_ = h.Extend(ctx, lease) // without an answer, the next tick asks again; in the end the hold is lost
			stop()
		}
	}
}

// announce notes in Redis that this process leads, and publishes that to observers. lead runs only after it, so every question
// from then on is answered with this leader.
func (t *term) announce() (passes bool, err error) {
	for {
		leader, passes, err := t.el.ask(t.ctx, &leaders.Note{Owner: t.mutex.TenureID(), Term: t.number, Identity: t.el.opts.Identity})
		switch {
		case t.ctx.Err() != nil:
			return false, t.el.failed(endedBy(t.ctx))
		case err == nil && leader.Term == t.number:
			return false, nil
		case err == nil, errors.Is(err, ErrNoLeader): // another has the mutex, or nobody: the engine will find that out
		case !passes:
			return false, err
		}
		wait(t.ctx, nil, askAgain)
	}
}

// run calls lead and gives the locks back when it has returned. led: lead returned before its context ended.
func (t *term) run(lead func(context.Context, int64) error) (led bool, err error) {
	defer t.giveBack()
	// After a ForceUnlock of the mutex the next leader does not wait for lead to return, only for the end of its context.
	defer context.AfterFunc(t.mutex.Context(context.Background()), func() {
		_ = t.ctx.Err() // ends it by the cause of the mutex, if it has not ended yet
		t.second.UnlockAsync()
	})()
	err = lead(t.ctx, t.number)
	return t.ctx.Err() == nil, err
}

// answerTime bounds how long the answers to the release are waited for. The engine goes on releasing.
const answerTime = time.Second

// giveBack frees the second lock and then the mutex, so that the next owner of the mutex finds the second lock free.
func (t *term) giveBack() {
	t.end(nil)
	_ = t.ctx.Err()
	second := futures.Settled[struct{}](nil, struct{}{}, nil)
	if t.second != nil {
		second = t.second.UnlockAsync()
	}
	first := t.mutex.UnlockAsync()
	ctx, stop := context.WithTimeout(context.Background(), answerTime)
	defer stop()
	_, err := first.Wait(ctx)
	_, secondErr := second.Wait(ctx)
	t.err = errors.Join(t.el.unknown(err), t.el.unknown(secondErr))
	close(t.over)
	t.keepers.Wait()
	if err == nil { // else the note is worth nothing, and the next leader overwrites it
		_, _, _ = t.el.ask(ctx, &leaders.Note{Owner: t.mutex.TenureID(), Term: t.number})
	}
}

// unknown returns the error of a release that may not have run; nil: the lock is free. Redis may keep a lock that was lost, if the last
// answers were, for a lease more. The second lock is ErrUnlocked only if run gave it back, because the mutex was lost.
func (e *Election) unknown(err error) error {
	switch {
	case errors.Is(err, engine.ErrUnlocked):
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return e.failed(fmt.Errorf("%w: %w", engine.ErrUncertain, err))
	}
	return err
}
