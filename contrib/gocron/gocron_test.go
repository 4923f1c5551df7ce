package wheelcron_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/elect"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"

	wheelcron "github.com/wheellock/wheellock/contrib/gocron"
)

// schedule starts a scheduler with one job, which ends with the test.
func schedule(t *testing.T, option gocron.SchedulerOption, when gocron.JobDefinition, job func(), opts ...gocron.JobOption) {
	t.Helper()
	scheduleBy(t, clockwork.NewRealClock(), option, when, job, opts...)
}

// scheduleBy is schedule with a clock.
func scheduleBy(t *testing.T, clock clockwork.Clock, option gocron.SchedulerOption, when gocron.JobDefinition, job func(), opts ...gocron.JobOption) {
	t.Helper()
	s, err := gocron.NewScheduler(option, gocron.WithClock(clock))
	testkit.Must(t, err)
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.NewJob(when, gocron.NewTask(job), append(opts, gocron.WithName("report"))...); err != nil {
		t.Fatal(err)
	}
	s.Start()
}

func newLocker(t *testing.T, redis *redistest.Server, opts wheelcron.LockerOptions) gocron.SchedulerOption {
	t.Helper()
	patient := func(o *engine.Options) { o.AnswerTimeout = testkit.Patience } // of a busy machine
	locker, err := wheelcron.NewLocker(testkit.Connect(t, redis.Addr(), patient), opts)
	testkit.Must(t, err)
	return gocron.WithDistributedLocker(locker)
}

var (
	now   = gocron.OneTimeJob(gocron.OneTimeJobStartImmediately())
	often = gocron.DurationJob(10 * time.Millisecond)
)

// A second scheduler that is late leaves a run out which the first has had, though that took no time; and gets its turn after MinHold.
func TestALateSchedulerRunsNothingTwice(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	var runs atomic.Int64
	ran := make(chan struct{}, 2)
	job := func() { runs.Add(1); ran <- struct{}{} }
	schedule(t, newLocker(t, redis, wheelcron.LockerOptions{MinHold: 2 * testkit.Patience}), now, job)
	testkit.Receive(t, "a run", ran)
	refused := make(chan error, 1)
	listen := gocron.WithEventListeners(gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) { refused <- err }))
	schedule(t, newLocker(t, redis, wheelcron.LockerOptions{}), now, job, listen)
	if err := testkit.Receive(t, "a refusal", refused); !errors.Is(err, engine.ErrHeld) {
		t.Errorf("%v, want ErrHeld", err)
	}
	if runs.Load() != 1 {
		t.Errorf("%d runs, want 1", runs.Load())
	}
}

// Two schedulers of a DurationJob count from their own starts. The one that is due later leaves the run of each period out, although the
// job has been free for long; and runs it when the other one does no more.
func TestOneRunAPeriod(t *testing.T) {
	t.Parallel()
	const period = time.Hour
	redis := redistest.Start(t)
	ran, refused := make(chan int, 2), make(chan error, 2)
	listen := gocron.WithEventListeners(gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) { refused <- err }))
	var clocks [2]*clockwork.FakeClock
	for i := range clocks {
		clocks[i] = clockwork.NewFakeClock()
		scheduleBy(t, clocks[i], newLocker(t, redis, wheelcron.LockerOptions{MinHold: -1}), gocron.DurationJob(period), func() { ran <- i }, listen)
	}
	tick := func(i int) {
		t.Helper()
		if err := clocks[i].BlockUntilContext(testkit.Soon(t), 1); err != nil { // until the job waits for its time
			t.Fatal(err)
		}
		clocks[i].Advance(period)
	}
	runs := func(i int) {
		t.Helper()
		tick(i)
		if by := testkit.Receive(t, "a run", ran); by != i {
			t.Fatalf("scheduler %d ran the job, want %d", by, i)
		}
		awaitFree(t, redis)
	}
	leavesOut := func(i int) {
		t.Helper()
		tick(i)
		select {
		case err := <-refused:
			if !errors.Is(err, wheelcron.ErrRan) {
				t.Errorf("%v, want ErrRan", err)
			}
		case <-ran:
			t.Fatal("the job ran twice in a period")
		}
	}
	for range 3 {
		runs(0)
		leavesOut(1)
	}
	runs(1) // scheduler 0 is gone
	runs(1)
	leavesOut(0) // it is back
	runs(0)
	leavesOut(1)
}

// A second scheduler that is late by just about MinHold, so that the job becomes free while it asks, leaves the run out too.
func TestALateSchedulerRunsNothingTwiceAtTheEndOfMinHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const minHold = 500 * time.Millisecond
		e, redis := enginetest.New(t, engine.Options{})
		first, err := wheelcron.NewLocker(e, wheelcron.LockerOptions{MinHold: minHold})
		testkit.Must(t, err)
		late, err := wheelcron.NewLocker(e, wheelcron.LockerOptions{MinHold: minHold})
		testkit.Must(t, err)
		time.Sleep(time.Second) // sleeps: in virtual time; the run comes later than the lockers
		run, err := first.Lock(t.Context(), "report")
		testkit.Must(t, err)
		testkit.Must(t, run.Unlock(t.Context()))
		redis.SetLatency(20 * time.Millisecond)
		time.Sleep(minHold - 30*time.Millisecond) // sleeps: in virtual time; the first question arrives before the end, the second behind it
		testkit.WantIs(t, "Lock", testkit.ResultOf(late.Lock(t.Context(), "report")), engine.ErrHeld)
		if _, err := late.Lock(t.Context(), "report"); err != nil { // of the next period
			t.Error(err)
		}
	})
}

// A run is made although the answer to its lock was lost: late, by the scheduler that asked for it, and by no other.
func TestALostAnswerLeavesNoRunOut(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, link := w.Connect()
		other, _ := w.Connect()
		var lockers [2]*wheelcron.Locker
		for i, e := range []*engine.Engine{e, other} {
			lockers[i], _ = wheelcron.NewLocker(e, wheelcron.LockerOptions{MinHold: -1})
		}
		due := func(i int) error {
			run, err := lockers[i].Lock(w.T.Context(), "report")
			if err == nil {
				err = run.Unlock(w.T.Context())
			}
			return err
		}
		time.Sleep(time.Minute)
		testkit.Must(w.T, due(0))
		if err := due(1); !errors.Is(err, wheelcron.ErrRan) {
			w.T.Fatal(err)
		}
		time.Sleep(time.Minute)
		time.AfterFunc(700*time.Microsecond, func() { link.Down.Lose(time.Now().Add(1200 * time.Millisecond)) }) // while the TryLock is on its way
		time.AfterFunc(1200*time.Millisecond, link.Cut)
		began := time.Now()
		if err := due(0); err != nil || time.Since(began) < time.Second {
			w.T.Errorf("%v after %v, want the lock, late", err, time.Since(began))
		}
		if err := due(1); !errors.Is(err, wheelcron.ErrRan) {
			w.T.Errorf("%v, want ErrRan", err)
		}
		time.Sleep(time.Minute)
		if err := due(1); err != nil {
			w.T.Error(err)
		}
	})
}

// A Locker that is asked for a name of which it has the lock itself says so, and warns once.
func TestTwoJobsOfOneNameAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, _ := enginetest.New(t, engine.Options{})
		var log strings.Builder
		l, err := wheelcron.NewLocker(e, wheelcron.LockerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		testkit.Must(t, err)
		time.Sleep(time.Second) // sleeps: in virtual time
		run, err := l.Lock(t.Context(), "main.func1")
		testkit.Must(t, err)
		for range 2 {
			if _, err := l.Lock(t.Context(), "main.func1"); !errors.Is(err, wheelcron.ErrSameName) || !errors.Is(err, engine.ErrHeld) {
				t.Errorf("%v, want ErrSameName that is ErrHeld", err)
			}
		}
		if err := run.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := l.Lock(t.Context(), "main.func1"); !errors.Is(err, wheelcron.ErrSameName) { // within MinHold
			t.Errorf("%v, want ErrSameName", err)
		}
		if n := strings.Count(log.String(), "left out"); n != 1 { // before the next name
			t.Errorf("%d warnings, want 1: %s", n, log.String())
		}
		second := make(chan error)
		go func() { _, err := l.Lock(t.Context(), "main.func2"); second <- err }()
		_, err = l.Lock(t.Context(), "main.func2") // at the same time
		if err = errors.Join(err, <-second); !errors.Is(err, wheelcron.ErrSameName) {
			t.Errorf("%v, want ErrSameName", err)
		}
		elsewhere, err := e.FencedMutex("gocron:other").Lock(t.Context())
		testkit.Must(t, err)
		if _, err := l.Lock(t.Context(), "other"); errors.Is(err, wheelcron.ErrSameName) {
			t.Errorf("%v, and another has it", err)
		}
		elsewhere.UnlockAsync()
	})
}

// blocking is a handler of log records that does not return before it is let go.
type blocking struct {
	slog.Handler
	entered, free chan struct{}
}

func (b blocking) Enabled(context.Context, slog.Level) bool { return true }
func (b blocking) Handle(context.Context, slog.Record) error {
	close(b.entered)
	<-b.free
	return nil
}

// A handler of the warning that blocks holds up no other job.
func TestAWarningThatBlocksHoldsUpNoOtherJob(t *testing.T) {
	t.Parallel()
	h := blocking{slog.DiscardHandler, make(chan struct{}), make(chan struct{})}
	l, err := wheelcron.NewLocker(testkit.Connect(t, redistest.Start(t).Addr()), wheelcron.LockerOptions{Logger: slog.New(h)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Lock(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	warned, other := make(chan error, 1), make(chan error, 1)
	go func() { _, err := l.Lock(t.Context(), "a"); warned <- err }()
	testkit.Receive(t, "a warning", h.entered)
	go func() { _, err := l.Lock(t.Context(), "b"); other <- err }()
	if err := testkit.Receive(t, "the lock of another job", other); err != nil {
		t.Error(err)
	}
	close(h.free)
	if err := testkit.Receive(t, "the lock that was warned of", warned); !errors.Is(err, wheelcron.ErrSameName) {
		t.Errorf("%v, want ErrSameName", err)
	}
}

// A scheduler that could not reach Redis when the job was due leaves the next run out if another one has had the lock since then, and not
// for a run before.
func TestALockThatFailedCountsAsTheLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, redis := enginetest.New(t, engine.Options{})
		var lockers [2]*wheelcron.Locker
		for i := range lockers {
			var err error
			if lockers[i], err = wheelcron.NewLocker(e, wheelcron.LockerOptions{MinHold: -1}); err != nil {
				t.Fatal(err)
			}
		}
		due := func(i int, want error) {
			t.Helper()
			time.Sleep(time.Minute) // sleeps: in virtual time, until the job is due
			run, err := lockers[i].Lock(t.Context(), "report")
			if !errors.Is(err, want) {
				t.Fatalf("Lock of scheduler %d: %v, want %v", i, err, want)
			}
			if err == nil {
				if err := run.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
		failed := func(i int) {
			t.Helper()
			redis.SetDown(true)
			due(i, engine.ErrUnavailable)
			redis.SetDown(false)
		}
		due(0, nil)
		failed(1)
		due(1, nil)
		failed(1)
		due(0, wheelcron.ErrRan)
		due(0, nil)
		due(1, wheelcron.ErrRan)
	})
}

// awaitFree waits until the job is free, of which the fencing counter stays.
func awaitFree(t *testing.T, redis *redistest.Server) {
	t.Helper()
	redistest.Await(t, "the job to be free", func() bool { return !slices.ContainsFunc(redis.Keys(), isLock) })
}

func isLock(key string) bool { return strings.HasSuffix(key, ":report") }

func TestAJobIsFreeAfterMinHold(t *testing.T) {
	t.Parallel()
	for name, minHold := range map[string]time.Duration{"default": 0, "none": -1, "shorter than the run": time.Microsecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			began := make(chan struct{}, 1)
			locker := newLocker(t, redis, wheelcron.LockerOptions{MinHold: minHold, Prefix: "jobs:"})
			before := time.Now() // the grant comes later, and MinHold counts from it
			schedule(t, locker, now, func() {
				if keys := redis.Keys(); !slices.Contains(keys, "jobs:report") {
					t.Errorf("keys %q", keys)
				}
				began <- struct{}{}
			})
			testkit.Receive(t, "a run", began)
			awaitFree(t, redis)
			if took := time.Since(before); minHold == 0 && took < 450*time.Millisecond {
				t.Errorf("the job was free %v after the scheduler started", took)
			}
		})
	}
}

// Two schedulers never run a job at the same time, and it does run.
func TestOneRunAtATime(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	var inside, runs atomic.Int64
	for range 2 {
		schedule(t, newLocker(t, redis, wheelcron.LockerOptions{MinHold: -1}), often, func() {
			if now := inside.Add(1); now != 1 {
				t.Errorf("%d runs at once", now)
			}
			time.Sleep(5 * time.Millisecond) // sleeps: how long a run takes
			runs.Add(1)
			inside.Add(-1)
		})
	}
	redistest.Await(t, "the job to run", func() bool { return runs.Load() >= 50 })
}

// One of two schedulers runs the job. When its process gives up, the other one does.
func TestTheLeaderRunsTheJobs(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	var runs [2]atomic.Int64
	var electors [2]*wheelcron.Elector
	for i := range electors {
		elector, err := wheelcron.NewElector(testkit.Connect(t, redis.Addr()), "scheduler", elect.Options{})
		testkit.Must(t, err)
		t.Cleanup(elector.Close)
		electors[i] = elector
		if i == 0 {
			redistest.Await(t, "the first to lead", func() bool { return elector.IsLeader(t.Context()) == nil })
		}
		schedule(t, gocron.WithDistributedElector(elector), often, func() { runs[i].Add(1) })
	}
	redistest.Await(t, "the leader's runs", func() bool { return runs[0].Load() >= 20 })
	if err := electors[1].IsLeader(t.Context()); !errors.Is(err, wheelcron.ErrNotLeader) || runs[1].Load() != 0 {
		t.Errorf("the other ran the job %d times, and is the leader: %v", runs[1].Load(), err)
	}
	electors[0].Close()
	testkit.WantIs(t, "after Close", electors[0].IsLeader(t.Context()), wheelcron.ErrNotLeader)
	redistest.Await(t, "the other's runs", func() bool { return runs[1].Load() >= 20 })
}

// A campaign that is over before Close is in the log, because gocron drops the error of IsLeader. Close is none.
func TestTheEndOfACampaignIsLogged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(*engine.Engine, *wheelcron.Elector)
		over error
		says string
	}{
		"engine closed": {func(e *engine.Engine, _ *wheelcron.Elector) { e.Close() }, engine.ErrClosed, "engine closed"},
		"Close":         {func(_ *engine.Engine, elector *wheelcron.Elector) { elector.Close() }, context.Canceled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := testkit.Connect(t, redistest.Start(t).Addr())
			var log strings.Builder
			errorsOnly := &slog.HandlerOptions{Level: slog.LevelError}
			elector, err := wheelcron.NewElector(e, "scheduler", elect.Options{Logger: slog.New(slog.NewTextHandler(&log, errorsOnly))})
			testkit.Must(t, err)
			t.Cleanup(elector.Close)
			redistest.Await(t, "the leadership", func() bool { return elector.IsLeader(t.Context()) == nil })
			c.end(e, elector)
			redistest.Await(t, "the end of the campaign", func() bool { return errors.Is(elector.IsLeader(t.Context()), c.over) })
			if got := log.String(); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
				t.Errorf("the log has %q, want %q", got, c.says)
			}
		})
	}
}

func TestWhatIsInvalid(t *testing.T) {
	t.Parallel()
	e := testkit.Connect(t, redistest.Start(t).Addr())
	if _, err := wheelcron.NewLocker(nil, wheelcron.LockerOptions{}); !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
	if _, err := wheelcron.NewLocker(e, wheelcron.LockerOptions{MinHold: engine.MaxLease + 1}); !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
	if _, err := wheelcron.NewElector(nil, "a", elect.Options{}); !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
	elector, err := wheelcron.NewElector(e, "", elect.Options{})
	testkit.Must(t, err)
	redistest.Await(t, "the end of the campaign", func() bool { return errors.Is(elector.IsLeader(t.Context()), engine.ErrInvalid) })
	elector.Close()
}
