package elect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/elect"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// These tests say what an election does as time goes by. They run in bubbles of testing/synctest on a Redis in memory.

const name = "scheduler"

// bubble is one test: a server, and candidates with an engine each.
type bubble struct {
	*testing.T
	redis *virtual.Redis
	opts  engine.Options
}

func spec(opts engine.Options, test func(b *bubble)) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			redis := virtual.Start(t)
			test(&bubble{t, redis, opts})
		})
	}
}

func (b *bubble) engine() *engine.Engine {
	b.Helper()
	e, err := b.redis.Open(b.Context(), b.opts)
	testkit.Must(b, err)
	b.Cleanup(func() { e.Close() })
	return e
}

// candidate is a process that campaigns. It leads until its context ends, or as it is told.
type candidate struct {
	b *bubble
	*elect.Election
	e     *engine.Engine
	stop  context.CancelCauseFunc
	led   chan leading // a term begins
	leave chan error   // lead returns this
	ended chan error   // Run has returned
}

// leading is one term of a candidate.
type leading struct {
	ctx  context.Context
	term int64
}

func (b *bubble) candidate(identity string) *candidate {
	b.Helper()
	return b.candidateOn(b.engine(), elect.Options{Identity: identity})
}

func (b *bubble) candidateOn(e *engine.Engine, opts elect.Options) *candidate {
	return b.candidateFor(elect.New(e, name, opts), e)
}

func (b *bubble) candidateFor(election *elect.Election, e *engine.Engine) *candidate {
	c := &candidate{b, election, e, nil, make(chan leading, 100), make(chan error), make(chan error, 1)}
	ctx, stop := context.WithCancelCause(context.Background())
	c.stop = stop
	go func() { c.ended <- c.Run(ctx, c.lead) }()
	b.Cleanup(func() { stop(nil); synctest.Wait() })
	return c
}

func (c *candidate) lead(ctx context.Context, term int64) error {
	c.led <- leading{ctx, term}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-c.leave:
		return err
	}
}

// leads waits until it leads.
func (c *candidate) leads() leading {
	c.b.Helper()
	select {
	case l := <-c.led:
		return l
	case <-time.After(time.Hour):
		c.b.Fatal("it does not lead")
		return leading{}
	}
}

// leader is a candidate that leads, and its first term.
func (b *bubble) leader(identity string) (*candidate, leading) {
	b.Helper()
	c := b.candidate(identity)
	return c, c.leads()
}

// wantLater fails the test unless a term has a greater number than another.
func (b *bubble) wantLater(l, than leading) {
	b.Helper()
	if l.term <= than.term {
		b.Errorf("term %d after %d", l.term, than.term)
	}
}

func (b *bubble) wantNil(what string, err error) {
	b.Helper()
	if err != nil {
		b.Errorf("%s: %v", what, err)
	}
}

// wantIdle fails the test if it leads by now.
func (c *candidate) wantIdle() {
	c.b.Helper()
	synctest.Wait()
	if len(c.led) > 0 {
		c.b.Error("it leads")
	}
}

func (b *bubble) wantIs(what string, err error, targets ...error) {
	b.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			b.Errorf("%s: %v, which is not %q", what, err, target)
		}
	}
}

// wantLeader fails the test unless Leader says so; "": nobody.
func (b *bubble) wantLeader(of *elect.Election, identity string, term int64) {
	b.Helper()
	leader, err := of.Leader(b.Context())
	if identity == "" {
		b.wantIs("Leader", err, elect.ErrNoLeader)
	} else if err != nil || leader.Identity != identity || leader.Term != term {
		b.Errorf("Leader = %+v, %v; want %s in term %d", leader, err, identity, term)
	}
}

// wantEnded fails the test unless a term has ended, with this cause.
func (b *bubble) wantEnded(l leading, cause error) {
	b.Helper()
	if l.ctx.Err() == nil {
		b.Error("the context of lead has not ended")
	}
	b.wantIs("the cause", context.Cause(l.ctx), cause)
}

func TestRun(t *testing.T) {
	t.Parallel()
	t.Run("one leads, and is known before lead begins", spec(engine.Options{}, func(b *bubble) {
		_, first := b.leader("red")
		began := time.Now()
		blue := b.candidate("blue")
		b.wantLeader(blue.Election, "red", first.term)
		time.Sleep(2 * time.Minute)
		blue.wantIdle()
		if first.ctx.Err() != nil {
			b.Errorf("the term has ended: %v", context.Cause(first.ctx))
		}
		leader, err := elect.New(b.engine(), name, elect.Options{}).Leader(b.Context())
		if err != nil || leader.Since.Sub(began).Abs() > time.Second {
			b.Errorf("Leader = %+v, %v; want one since %v", leader, err, began)
		}
	}))
	t.Run("nobody leads before the first and after the last", spec(engine.Options{}, func(b *bubble) {
		view := elect.New(b.engine(), name, elect.Options{})
		b.wantLeader(view, "", 0)
		red, _ := b.leader("red")
		red.stop(nil)
		<-red.ended
		b.wantLeader(view, "", 0)
		if keys := b.redis.Keys(); len(keys) != 1 || !strings.HasPrefix(keys[0], "redisson_lock_token:") {
			b.Errorf("keys in Redis = %q, want the fencing counter alone", keys)
		}
	}))
	t.Run("goes to the candidate that waits longest", spec(engine.Options{}, func(b *bubble) {
		var all []*candidate
		for i := range 5 {
			all = append(all, b.candidate(fmt.Sprint(i)))
			time.Sleep(time.Second)
		}
		for _, c := range all {
			c.leads()
			c.leave <- nil
		}
	}))
	t.Run("shares its second lock with the same name in braces, so that one of the two has a leader", spec(engine.Options{}, func(b *bubble) {
		red, first := b.leader("red")
		e := b.engine()
		blue := b.candidateFor(elect.New(e, "{"+name+"}", elect.Options{Identity: "blue"}), e)
		time.Sleep(time.Hour)
		blue.wantIdle()
		b.wantLeader(blue.Election, "", 0)
		b.wantLeader(red.Election, "red", first.term)
		red.stop(nil)
		b.wantLeader(blue.Election, "blue", blue.leads().term)
	}))
	t.Run("ends with its context, and gives the name back", spec(engine.Options{}, func(b *bubble) {
		red, first := b.leader("red")
		blue := b.candidate("blue")
		synctest.Wait()
		why := errors.New("shut down")
		red.stop(why)
		second := blue.leads()
		b.wantIs("Run", <-red.ended, context.Canceled, why)
		b.wantEnded(first, why)
		b.wantLater(second, first)
	}))
	t.Run("ends with its context also between the grant and lead", spec(engine.Options{}, func(b *bubble) {
		why := errors.New("shut down")
		for _, after := range []time.Duration{250, 750, 1250, 1750} { // before the answers: of the locks, of the note
			red := elect.New(b.engine(), name, elect.Options{})
			b.redis.SetLatency(500 * time.Millisecond)
			ctx, stop := context.WithCancelCause(b.Context())
			time.AfterFunc(after*time.Millisecond, func() { stop(why) })
			b.wantIs(fmt.Sprintf("Run, ended after %v", after*time.Millisecond),
				red.Run(ctx, func(ctx context.Context, _ int64) error { <-ctx.Done(); return nil }), context.Canceled, why)
			b.redis.SetLatency(0)
			time.Sleep(time.Minute)
		}
	}))
	t.Run("ends with its context, and with what lead says besides", spec(engine.Options{}, func(b *bubble) {
		why, failed := errors.New("shut down"), errors.New("could not tidy up")
		for _, c := range []struct {
			says func(context.Context) error
			want string
		}{
			{func(context.Context) error { return nil }, ""},
			{context.Context.Err, ""},
			{context.Cause, ""},
			{func(ctx context.Context) error { return fmt.Errorf("at once: %w", ctx.Err()) }, ""},
			{func(context.Context) error { return failed }, "\n" + failed.Error()},
		} {
			ctx, stop := context.WithCancelCause(b.Context())
			err := elect.New(b.engine(), name, elect.Options{}).Run(ctx, func(ctx context.Context, _ int64) error {
				stop(why)
				return c.says(ctx)
			})
			b.wantIs("Run", err, context.Canceled, why)
			if want := `wheellock: election "scheduler": context canceled: shut down` + c.want; err.Error() != want {
				b.Errorf("Run = %q, want %q", err, want)
			}
		}
	}))
	t.Run("campaigns again when it loses one lock while it waits for the other", spec(engine.Options{}, func(b *bubble) {
		second, err := b.engine().Mutex("{" + name + "}:leading").Lock(b.Context())
		testkit.Must(b, err)
		red := b.candidate("red")
		time.Sleep(time.Second)
		b.redis.Lose(name)
		time.Sleep(time.Minute)
		red.wantIdle()
		second.UnlockAsync()
		red.leads()
	}))
	t.Run("keeps the name until lead has returned", spec(engine.Options{}, func(b *bubble) {
		e, hung := b.engine(), make(chan struct{})
		red := elect.New(e, name, elect.Options{})
		ctx, stop := context.WithCancel(b.Context())
		leads, ended := make(chan struct{}), make(chan error)
		failed := errors.New("could not tidy up")
		go func() {
			ended <- red.Run(ctx, func(context.Context, int64) error { close(leads); <-hung; return failed })
		}()
		<-leads
		blue := b.candidate("blue")
		stop()
		time.Sleep(2 * time.Minute)
		blue.wantIdle()
		close(hung)
		b.wantIs("Run", <-ended, context.Canceled, failed)
		blue.leads()
	}))
	t.Run("campaigns again when lead returns nil, after others", spec(engine.Options{}, func(b *bubble) {
		red, _ := b.leader("red")
		blue := b.candidate("blue")
		synctest.Wait()
		red.leave <- nil
		blue.leads()
		time.Sleep(time.Second)
		blue.leave <- nil
		red.leads()
	}))
	t.Run("campaigns again when lead returns nil, also if it is alone", spec(engine.Options{}, func(b *bubble) {
		red := b.candidate("red")
		last := int64(0)
		for range 5 {
			l := red.leads()
			if l.term <= last {
				b.Errorf("term %d after %d", l.term, last)
			}
			last = l.term
			red.leave <- nil
		}
	}))
	t.Run("returns the error of a lead that fails", spec(engine.Options{}, func(b *bubble) {
		red, _ := b.leader("red")
		blue := b.candidate("blue")
		failed := errors.New("no work")
		red.leave <- failed
		if err := <-red.ended; err != failed {
			b.Errorf("Run = %v, want %v", err, failed)
		}
		blue.leads()
	}))
	t.Run("gives the name back if lead panics", spec(engine.Options{}, func(b *bubble) {
		var log bytes.Buffer
		e := b.engine()
		func() {
			defer func() {
				if r := recover(); r != "at work" {
					b.Errorf("recovered %v", r)
				}
			}()
			_ = elect.New(e, name, elect.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}).Run(b.Context(), func(context.Context, int64) error { panic("at work") })
		}()
		if !strings.Contains(log.String(), "leads no more") {
			b.Errorf("the log does not tell that it leads no more:\n%s", &log)
		}
		b.candidateOn(e, elect.Options{}).leads()
	}))
	t.Run("gives the name back if the logger panics", spec(engine.Options{}, func(b *bubble) {
		e := b.engine()
		func() {
			defer func() { _ = recover() }()
			_ = elect.New(e, name, elect.Options{Logger: slog.New(panicky{slog.DiscardHandler})}).Run(b.Context(), func(context.Context, int64) error { return nil })
		}()
		b.candidateOn(e, elect.Options{}).leads()
	}))
	t.Run("ends when the engine is closed", spec(engine.Options{}, func(b *bubble) {
		red, l := b.leader("red")
		blue := b.candidate("blue")
		red.e.Close()
		b.wantEnded(l, engine.ErrLost)
		b.wantIs("Run", <-red.ended, engine.ErrClosed)
		blue.leads()
	}))
}

func TestLoss(t *testing.T) {
	t.Parallel()
	t.Run("a leader that is cut off ends before the next begins", spec(engine.Options{}, func(b *bubble) {
		red, first := b.leader("red")
		b.redis.SetDown(true)
		time.Sleep(28 * time.Second) // of 30 s, less the margin and the longest pause before the engine tries to connect again
		b.redis.SetDown(false)
		time.Sleep(time.Minute)
		if first.ctx.Err() != nil {
			b.Fatalf("lost although Redis was back in time: %v", context.Cause(first.ctx))
		}
		b.redis.SetDown(true)
		time.Sleep(time.Minute)
		b.wantEnded(first, engine.ErrLost)
		b.redis.SetDown(false)
		blue := b.candidate("blue")
		time.Sleep(time.Minute)
		if len(red.led)+len(blue.led) != 1 {
			b.Errorf("%d and %d lead, want one", len(red.led), len(blue.led))
		}
	}))
	t.Run("who deletes the key makes nobody lead too early", spec(engine.Options{}, func(b *bubble) {
		_, first := b.leader("red")
		blue := b.candidate("blue")
		synctest.Wait()
		b.redis.Lose(name)
		second := blue.leads() // which asks after PollCap at the latest
		b.wantEnded(first, engine.ErrLost)
		b.wantLater(second, first)
	}))
	t.Run("force does so neither, and does not wait for lead", spec(engine.Options{}, func(b *bubble) {
		e := b.engine()
		leads, hung := make(chan context.Context), make(chan struct{})
		go elect.New(e, name, elect.Options{}).Run(b.Context(), func(ctx context.Context, _ int64) error {
			leads <- ctx
			<-hung
			return nil
		})
		first := <-leads
		blue := b.candidate("blue")
		synctest.Wait()
		if freed, err := blue.e.FencedMutex(name).ForceUnlock(b.Context()); !freed || err != nil {
			b.Fatalf("ForceUnlock = %t, %v", freed, err)
		}
		blue.leads()
		b.wantEnded(leading{ctx: first}, engine.ErrLost)
		close(hung)
	}))
	t.Run("the key of the second lock deleted", spec(engine.Options{}, func(b *bubble) {
		_, first := b.leader("red")
		blue := b.candidate("blue")
		b.redis.Lose("{" + name + "}:leading")
		second := blue.leads()
		b.wantEnded(first, engine.ErrLost)
		b.wantLater(second, first)
	}))
	t.Run("MaxHold bounds a term", spec(engine.Options{MaxHold: time.Minute}, func(b *bubble) {
		red, first := b.leader("red")
		second := red.leads()
		b.wantEnded(first, engine.ErrMaxHold)
		b.wantLater(second, first)
	}))
}

func TestResign(t *testing.T) {
	t.Parallel()
	t.Run("of the leader", spec(engine.Options{}, func(b *bubble) {
		red, first := b.leader("red")
		blue := b.candidate("blue")
		synctest.Wait()
		b.wantNil("Resign", red.Resign(b.Context()))
		b.wantEnded(first, elect.ErrResigned)
		second := blue.leads()
		b.wantLeader(red.Election, "blue", second.term)
		b.wantNil("Resign again", red.Resign(b.Context()))
		time.Sleep(time.Minute)
		if second.ctx.Err() != nil {
			b.Error("Resign ended the term of another")
		}
		blue.stop(nil)
		red.leads() // it has campaigned again
	}))
	t.Run("of a process that does not lead", spec(engine.Options{}, func(b *bubble) {
		b.wantNil("Resign", elect.New(b.engine(), name, elect.Options{}).Resign(b.Context()))
	}))
	t.Run("while lead goes on", spec(engine.Options{}, func(b *bubble) {
		e := b.engine()
		red := elect.New(e, name, elect.Options{})
		leads, hung := make(chan context.Context), make(chan struct{})
		go red.Run(b.Context(), func(ctx context.Context, _ int64) error { leads <- ctx; <-hung; return nil })
		first := <-leads
		blue := b.candidate("blue")
		ctx, stop := context.WithTimeout(b.Context(), time.Minute)
		defer stop()
		b.wantIs("Resign", red.Resign(ctx), context.DeadlineExceeded)
		b.wantEnded(leading{ctx: first}, elect.ErrResigned)
		blue.wantIdle()
		close(hung)
		blue.leads()
	}))
	t.Run("inside lead", spec(engine.Options{}, func(b *bubble) {
		e := b.engine()
		red := elect.New(e, name, elect.Options{})
		resigned := make(chan error, 100)
		ctx, stop := context.WithCancel(b.Context())
		defer stop()
		go red.Run(ctx, func(ctx context.Context, _ int64) error {
			child, stop := context.WithCancel(ctx)
			defer stop()
			resigned <- red.Resign(child)
			return ctx.Err()
		})
		b.wantNil("Resign", <-resigned)
		<-resigned // the next term
	}))
	t.Run("inside lead of another election inside lead", spec(engine.Options{}, func(b *bubble) {
		e := b.engine()
		outer, inner := elect.New(e, "outer", elect.Options{}), elect.New(e, "inner", elect.Options{})
		ctx, stop := context.WithCancel(b.Context())
		_ = outer.Run(ctx, func(ctx context.Context, _ int64) error {
			return inner.Run(ctx, func(ctx context.Context, _ int64) error {
				b.wantNil("Resign", outer.Resign(ctx))
				stop()
				return nil
			})
		})
	}))
	t.Run("after a loss, while the name is taken in Redis", spec(engine.Options{}, func(b *bubble) {
		e, hung := b.engine(), make(chan struct{})
		red := elect.New(e, name, elect.Options{})
		leads := make(chan context.Context)
		go red.Run(b.Context(), func(ctx context.Context, _ int64) error { leads <- ctx; <-hung; return nil })
		first := <-leads
		b.redis.SetDown(true)
		<-first.Done()
		b.wantEnded(leading{ctx: first}, engine.ErrLost)
		time.AfterFunc(time.Millisecond, func() { close(hung) })
		b.wantIs("Resign", red.Resign(b.Context()), engine.ErrLost)
		if keys := b.redis.Keys(); !slices.Contains(keys, name) {
			b.Errorf("keys in Redis = %q: the test proves nothing", keys)
		}
	}))
	t.Run("while Redis is away", spec(engine.Options{}, func(b *bubble) {
		red, first := b.leader("red")
		b.redis.SetDown(true)
		b.wantIs("Resign", red.Resign(b.Context()), engine.ErrUncertain)
		b.wantEnded(first, elect.ErrResigned)
		if err := red.Resign(b.Context()); err != nil {
			b.wantIs("Resign again", err, engine.ErrUncertain)
		}
		blue := elect.New(b.engineAfter(10*time.Second), name, elect.Options{})
		back := time.Now()
		won := make(chan int64)
		go blue.Run(b.Context(), func(ctx context.Context, term int64) error { won <- term; <-ctx.Done(); return nil })
		select {
		case <-won:
		case <-red.led:
		}
		if waited := time.Since(back); waited > 5*time.Second {
			b.Errorf("the next leader came %v after Redis was back: the engine did not finish what Resign began", waited)
		}
	}))
}

// engineAfter brings the server back after a while and opens an engine on it.
func (b *bubble) engineAfter(d time.Duration) *engine.Engine {
	time.Sleep(d)
	b.redis.SetDown(false)
	return b.engine()
}

func TestResignBetweenTheNoteAndLead(t *testing.T) {
	t.Parallel()
	for silence, want := range map[time.Duration]error{100 * time.Millisecond: nil, 10 * time.Second: engine.ErrUncertain} {
		t.Run(fmt.Sprint("while Redis is silent for ", silence), func(t *testing.T) {
			t.Parallel()
			virtual.Test(t, func(w *virtual.World) {
				e, link := w.Connect()
				red, led, ended := elect.New(e, name, elect.Options{}), make(chan int64, 1), make(chan error, 1)
				ctx, stop := context.WithCancelCause(w.T.Context())
				why := errors.New("shut down")
				go func() {
					ended <- red.Run(ctx, func(ctx context.Context, term int64) error { led <- term; <-ctx.Done(); return nil })
				}()
				for !slices.Contains(w.Server.Keys(), "{"+name+"}:wheellock:leader") {
					time.Sleep(50 * time.Microsecond)
				}
				link.Hold(time.Now().Add(silence)) // the answer to the note is on its way
				time.AfterFunc(50*time.Millisecond, func() { stop(why) })
				if err := red.Resign(w.T.Context()); !errors.Is(err, want) {
					w.T.Errorf("Resign = %v, want %v", err, want)
				}
				if err := <-ended; !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
					w.T.Errorf("Run = %v, want the end of its context", err)
				}
				if len(led) > 0 {
					w.T.Error("it leads in a term that it has resigned from")
				}
			})
		})
	}
}

func TestLease(t *testing.T) {
	t.Parallel()
	t.Run("of its own is renewed", spec(engine.Options{}, func(b *bubble) {
		red := b.candidateOn(b.engine(), elect.Options{Lease: 2 * time.Second})
		first := red.leads()
		time.Sleep(10 * time.Minute)
		if first.ctx.Err() != nil {
			b.Errorf("lost: %v", context.Cause(first.ctx))
		}
		state, err := red.e.FencedMutex(name).Inspect(b.Context())
		if err != nil || state.TTL > 2*time.Second {
			b.Errorf("Inspect = %+v, %v; want a TTL of at most 2s", state, err)
		}
		b.redis.SetDown(true)
		down, deadline := time.Now(), red.Deadline()
		<-first.ctx.Done()
		if early := time.Until(deadline); early > 0 || early < -time.Second/10 {
			b.Errorf("the term ended %v before its Deadline", early)
		}
		if lasted := time.Since(down); lasted > 2*time.Second {
			b.Errorf("the term ended %v after Redis was away, want 2s at most", lasted)
		}
		b.redis.SetDown(false)
		if red.leads().term <= first.term {
			b.Error("the term did not grow")
		}
	}))
	t.Run("ends at a Deadline, for who leads alone", spec(engine.Options{}, func(b *bubble) {
		red, _ := b.leader("red")
		blue := b.candidate("blue")
		synctest.Wait()
		if left := time.Until(red.Deadline()); left < 20*time.Second || left > 30*time.Second || !blue.Deadline().IsZero() {
			b.Errorf("Deadline of the leader in %v, of another %v; want 20s to 30s, and none", left, blue.Deadline())
		}
	}))
}

// The log tells of terms, and of what lead says besides that its context has ended. After each term others come first.
func TestTermsAreLogged(t *testing.T) {
	spec(engine.Options{}, func(b *bubble) {
		var log bytes.Buffer
		withoutTime := func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}
		el := elect.New(b.engine(), name, elect.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: withoutTime}))})
		ctx, stop := context.WithCancel(b.Context())
		answers := []func(context.Context) error{context.Context.Err, context.Cause, func(context.Context) error { return errors.New("too late") }}
		terms, ended := make(chan int64, len(answers)), make(chan error, 1)
		go func() {
			n := 0
			ended <- el.Run(ctx, func(ctx context.Context, term int64) error {
				terms <- term
				<-ctx.Done()
				n++
				return answers[n-1](ctx)
			})
		}()
		var want strings.Builder
		for range answers {
			resigned := time.Now()
			term := <-terms
			if el.Deadline().IsZero() || want.Len() > 0 && time.Since(resigned) < 500*time.Millisecond {
				b.Errorf("it leads again after %v, and to the end of %v", time.Since(resigned), el.Deadline())
			}
			fmt.Fprintf(&want, "level=INFO msg=\"wheellock: leads\" election=scheduler term=%d\n", term)
			fmt.Fprintf(&want, "level=INFO msg=\"wheellock: leads no more\" election=scheduler term=%d cause=\"wheellock: resigned\"\n", term)
			b.wantNil("Resign", el.Resign(b.Context()))
			synctest.Wait()
			if !el.Deadline().IsZero() {
				b.Errorf("after Resign it leads until %v", el.Deadline())
			}
		}
		fmt.Fprintf(&want, "level=WARN msg=\"wheellock: campaigns again\" election=scheduler error=\"too late\"\n")
		stop()
		b.wantIs("Run", <-ended, context.Canceled)
		if log.String() != want.String() {
			b.Errorf("the log has\n%swant\n%s", log.String(), want.String())
		}
	})(t)
}

func TestObserve(t *testing.T) {
	t.Parallel()
	t.Run("yields the leader and every later one", spec(engine.Options{}, func(b *bubble) {
		red, first := b.leader("red")
		blue := b.candidate("blue")
		seen := b.observe(elect.New(b.engine(), name, elect.Options{}))
		b.wantSeen(seen, "red", first.term)
		at := time.Now()
		red.stop(nil)
		second := blue.leads()
		b.wantSeen(seen, "blue", second.term)
		if waited := time.Since(at); waited > time.Second {
			b.Errorf("it came after %v: no message woke the observer", waited)
		}
		time.Sleep(2 * time.Minute)
		if len(seen) > 0 {
			b.Errorf("and then %+v", <-seen)
		}
	}))
	t.Run("begins when there is no leader", spec(engine.Options{}, func(b *bubble) {
		seen := b.observe(elect.New(b.engine(), name, elect.Options{}))
		synctest.Wait()
		red := b.candidate("red")
		b.wantSeen(seen, "red", red.leads().term)
	}))
	t.Run("a slow observer gets the last", spec(engine.Options{}, func(b *bubble) {
		red, first := b.leader("red")
		ctx, stop := context.WithCancel(b.Context())
		defer stop()
		var seen []elect.Leader
		var last leading
		for leader := range elect.New(b.engine(), name, elect.Options{}).Observe(ctx) {
			seen = append(seen, leader)
			if len(seen) > 1 {
				break
			}
			for range 5 { // while this observer is busy
				red.leave <- nil
				last = red.leads()
			}
		}
		if len(seen) != 2 || seen[0].Term != first.term || seen[1].Term != last.term {
			b.Errorf("seen %+v, want the terms %d and %d", seen, first.term, last.term)
		}
	}))
	t.Run("goes on after an outage", spec(engine.Options{}, func(b *bubble) {
		red, first := b.leader("red")
		seen := b.observe(elect.New(b.engine(), name, elect.Options{}))
		b.wantSeen(seen, "red", first.term)
		b.redis.SetDown(true)
		time.Sleep(time.Minute)
		b.redis.SetDown(false)
		b.wantSeen(seen, "red", red.leads().term)
	}))
	t.Run("ends with the engine", spec(engine.Options{}, func(b *bubble) {
		e := b.engine()
		go func() {
			time.Sleep(time.Minute)
			began := time.Now()
			e.Close()
			if took := time.Since(began); took > time.Second {
				b.Errorf("Close took %v", took)
			}
		}()
		var log bytes.Buffer
		for leader := range elect.New(e, name, elect.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}).Observe(b.Context()) {
			b.Errorf("seen %+v", leader)
		}
		if said := log.String(); !strings.Contains(said, "cannot observe an election") || !strings.Contains(said, "election=scheduler error=") {
			b.Errorf("the log has %q", said)
		}
	}))
	t.Run("ends with its context", spec(engine.Options{}, func(b *bubble) {
		ctx, stop := context.WithTimeout(b.Context(), time.Minute)
		defer stop()
		for leader := range elect.New(b.engine(), name, elect.Options{}).Observe(ctx) {
			b.Errorf("seen %+v", leader)
		}
		if ctx.Err() == nil {
			b.Error("it ended before its context")
		}
	}))
	t.Run("ends with its context also while it connects", func(t *testing.T) {
		t.Parallel()
		virtual.Test(t, func(w *virtual.World) {
			e, link := w.Connect()
			link.Silence(time.Now().Add(time.Hour))
			ctx, stop := context.WithTimeout(w.T.Context(), 100*time.Millisecond)
			defer stop()
			began := time.Now()
			for range elect.New(e, name, elect.Options{}).Observe(ctx) {
			}
			if took := time.Since(began); took != 100*time.Millisecond {
				w.T.Errorf("it ended after %v", took)
			}
		})
	})
}

// observe observes an election until the test ends.
func (b *bubble) observe(el *elect.Election) <-chan elect.Leader {
	seen := make(chan elect.Leader, 100)
	ctx, stop := context.WithCancel(context.Background())
	b.Cleanup(func() { stop(); synctest.Wait() })
	go func() {
		for leader := range el.Observe(ctx) {
			seen <- leader
		}
	}()
	return seen
}

func (b *bubble) wantSeen(seen <-chan elect.Leader, identity string, term int64) {
	b.Helper()
	select {
	case leader := <-seen:
		if leader.Identity != identity || leader.Term != term {
			b.Errorf("seen %+v, want %s in term %d", leader, identity, term)
		}
	case <-time.After(time.Hour):
		b.Fatalf("%s in term %d was not seen", identity, term)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	t.Run("the identity names program, host and process", spec(engine.Options{}, func(b *bubble) {
		red := b.candidateOn(b.engine(), elect.Options{})
		red.leads()
		leader, err := red.Leader(b.Context())
		if err != nil || !regexp.MustCompile(`^elect\.test\S*@.+:\d+$`).MatchString(leader.Identity) {
			b.Errorf("Leader = %+v, %v", leader, err)
		}
		if text := fmt.Sprintf("%+v", red.Election); text != `election "scheduler"` {
			b.Errorf("it prints as %s", text)
		}
	}))
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	t.Run("arguments", spec(engine.Options{}, func(b *bubble) {
		e := b.engine()
		lead := func(context.Context, int64) error { b.Error("it leads"); return nil }
		for what, el := range map[string]*elect.Election{
			"no engine":      elect.New(nil, name, elect.Options{}),
			"no name":        elect.New(e, "", elect.Options{}),
			"a long name":    elect.New(e, strings.Repeat("n", 1015), elect.Options{}),
			"another's key":  elect.New(e, "redisson_lock_token:{a}", elect.Options{}),
			"a short lease":  elect.New(e, name, elect.Options{Lease: time.Millisecond}),
			"a long lease":   elect.New(e, name, elect.Options{Lease: engine.MaxLease + 1}),
			"a big identity": elect.New(e, name, elect.Options{Identity: strings.Repeat("i", 1025)}),
		} {
			b.wantIs(what+": Run", el.Run(b.Context(), lead), engine.ErrInvalid)
			_, err := el.Leader(b.Context())
			b.wantIs(what+": Leader", err, engine.ErrInvalid)
			for leader := range el.Observe(b.Context()) {
				b.Errorf("%s: seen %+v", what, leader)
			}
		}
		_, err := elect.New(e, name, elect.Options{Lease: time.Millisecond}).Leader(b.Context())
		testkit.Mentions(b, err, "Lease 1ms: must be from 100ms to 720h0m0s")
		for _, o := range []elect.Options{{Lease: 100 * time.Millisecond}, {Lease: engine.MaxLease}, {Identity: strings.Repeat("i", 1024)}} {
			_, err := elect.New(e, name, o).Leader(b.Context())
			b.wantIs("Leader with the least and the most", err, elect.ErrNoLeader)
		}
		b.wantIs("Run without lead", elect.New(e, name, elect.Options{}).Run(b.Context(), nil), engine.ErrInvalid)
	}))
	t.Run("Run twice at once", spec(engine.Options{}, func(b *bubble) {
		red, _ := b.leader("red")
		err := red.Run(b.Context(), red.lead)
		b.wantIs("Run", err, engine.ErrInvalid)
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "running already") {
			b.Errorf("Run = %v", err)
		}
		red.stop(nil)
		<-red.ended
		ctx, stop := context.WithCancel(b.Context())
		stop()
		b.wantIs("Run after Run", red.Run(ctx, red.lead), context.Canceled)
	}))
	t.Run("a name of 1,014 bytes works", spec(engine.Options{}, func(b *bubble) {
		leads, el := make(chan bool), elect.New(b.engine(), strings.Repeat("n", 1014), elect.Options{})
		go el.Run(b.Context(), func(ctx context.Context, _ int64) error { leads <- true; <-ctx.Done(); return nil })
		<-leads
	}))
}

// panicky is a handler of log records that panics.
type panicky struct{ slog.Handler }

func (panicky) Enabled(context.Context, slog.Level) bool  { return true }
func (panicky) Handle(context.Context, slog.Record) error { panic("a user's handler") }
