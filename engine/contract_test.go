package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/futures"
)

// What follows is the contract: programs outside compile against it. Every name here stays, with exactly this
// type; only additions are free.
var (
	_ func(context.Context, engine.Options) (*engine.Engine, error) = engine.Open
	_ func(string) (engine.Options, error)                          = engine.ParseURL
	_ func(*engine.Engine) error                                    = (*engine.Engine).Close
	_ func(*engine.Engine, context.Context) error                   = (*engine.Engine).Shutdown
	_ func(*engine.Engine) engine.Stats                             = (*engine.Engine).Stats
	_ io.Closer                                                     = (*engine.Engine)(nil)

	_ func(*engine.Engine, string) *engine.Mutex                                                                  = (*engine.Engine).Mutex
	_ func(*engine.Engine, string) *engine.Mutex                                                                  = (*engine.Engine).FairMutex
	_ func(*engine.Engine, string) *engine.Mutex                                                                  = (*engine.Engine).FencedMutex
	_ func(*engine.Engine, string) *engine.Mutex                                                                  = (*engine.Engine).SpinMutex
	_ func(*engine.Engine, string) *engine.RWMutex                                                                = (*engine.Engine).RWMutex
	_ func(*engine.RWMutex) *engine.Mutex                                                                         = (*engine.RWMutex).Reader
	_ func(*engine.RWMutex) *engine.Mutex                                                                         = (*engine.RWMutex).Writer
	_ func(...engine.Locker) (*engine.MultiLock, error)                                                           = engine.Multi
	_ func(string, ...*engine.Engine) (*engine.QuorumLock, error)                                                 = engine.Quorum
	_ func(context.Context, engine.Locker, func(context.Context, *engine.Hold) error, ...engine.LockOption) error = engine.Do

	_ func(engine.Locker) string                                                               = engine.Locker.Name
	_ func(engine.Locker, context.Context, ...engine.LockOption) (*engine.Hold, error)         = engine.Locker.Lock
	_ func(engine.Locker, context.Context, ...engine.LockOption) (*engine.Hold, error)         = engine.Locker.TryLock
	_ func(engine.Locker, context.Context, ...engine.LockOption) *futures.Future[*engine.Hold] = engine.Locker.LockAsync
	_ func(engine.Locker, context.Context, ...engine.LockOption) *futures.Future[*engine.Hold] = engine.Locker.TryLockAsync
	_ engine.Locker                                                                            = (*engine.Mutex)(nil)
	_ engine.Locker                                                                            = (*engine.MultiLock)(nil)
	_ engine.Locker                                                                            = (*engine.QuorumLock)(nil)

	_ func(...*engine.Observer) *engine.Observer = engine.Observers
	_ func(engine.Grant) string                  = engine.Grant.Outcome
	_ func(engine.Failure) string                = engine.Failure.Outcome
	_ func(engine.End) string                    = engine.End.Outcome
	_ func(engine.Locker) engine.Kind            = engine.Locker.Kind

	_ func(time.Duration) engine.LockOption                                                    = engine.WithMinHold
	_ func(*engine.Hold) <-chan struct{}                                                       = (*engine.Hold).Wanted
	_ func(*engine.Hold, context.Context, time.Duration) (string, error)                       = (*engine.Hold).Detach
	_ func(*engine.Mutex, context.Context, string, ...engine.LockOption) (*engine.Hold, error) = (*engine.Mutex).Adopt
	_ func(*engine.Engine, ...string) (*engine.MultiLock, error)                               = (*engine.Engine).All

	_ func(*engine.Engine) string                                          = (*engine.Engine).ID
	_ func(*engine.Engine, context.Context, string) (engine.Holder, error) = (*engine.Engine).Holder

	_ func(*engine.Mutex, context.Context) (bool, error)            = (*engine.Mutex).ForceUnlock
	_ func(*engine.Mutex, context.Context, ...string) (bool, error) = (*engine.Mutex).ForceUnlockOwners
	_ func(*engine.Mutex, context.Context) (engine.State, error)    = (*engine.Mutex).Inspect

	_ func(*engine.Engine, string) *engine.Semaphore                                                  = (*engine.Engine).Semaphore
	_ func(*engine.Semaphore, context.Context, int64, ...engine.LockOption) error                     = (*engine.Semaphore).Acquire
	_ func(*engine.Semaphore, context.Context, int64, ...engine.LockOption) error                     = (*engine.Semaphore).TryAcquire
	_ func(*engine.Semaphore, context.Context, int64, ...engine.LockOption) *futures.Future[struct{}] = (*engine.Semaphore).AcquireAsync
	_ func(*engine.Semaphore, context.Context, int64, ...engine.LockOption) *futures.Future[struct{}] = (*engine.Semaphore).TryAcquireAsync
	_ func(*engine.Semaphore, context.Context, int64) error                                           = (*engine.Semaphore).Release
	_ func(*engine.Semaphore, context.Context, int64) *futures.Future[struct{}]                       = (*engine.Semaphore).ReleaseAsync
	_ func(*engine.Semaphore, context.Context, int64) (bool, error)                                   = (*engine.Semaphore).TrySetPermits
	_ func(*engine.Semaphore, context.Context, int64, time.Duration) (bool, error)                    = (*engine.Semaphore).TrySetPermitsFor
	_ func(*engine.Semaphore, context.Context, int64) error                                           = (*engine.Semaphore).AddPermits
	_ func(*engine.Semaphore, context.Context) (int64, error)                                         = (*engine.Semaphore).Drain
	_ func(*engine.Semaphore, context.Context) (bool, error)                                          = (*engine.Semaphore).Delete
	_ func(*engine.Semaphore, context.Context) (int64, error)                                         = (*engine.Semaphore).Available

	_ func(*engine.Engine, string) *engine.PermitSemaphore                                                    = (*engine.Engine).PermitSemaphore
	_ func(*engine.PermitSemaphore, context.Context, int, ...engine.LockOption) (*engine.Hold, error)         = (*engine.PermitSemaphore).Acquire
	_ func(*engine.PermitSemaphore, context.Context, int, ...engine.LockOption) (*engine.Hold, error)         = (*engine.PermitSemaphore).TryAcquire
	_ func(*engine.PermitSemaphore, context.Context, int, ...engine.LockOption) *futures.Future[*engine.Hold] = (*engine.PermitSemaphore).AcquireAsync
	_ func(*engine.PermitSemaphore, context.Context, int, ...engine.LockOption) *futures.Future[*engine.Hold] = (*engine.PermitSemaphore).TryAcquireAsync
	_ func(*engine.PermitSemaphore, context.Context, ...string) error                                         = (*engine.PermitSemaphore).Release
	_ func(*engine.PermitSemaphore, context.Context, int64) (bool, error)                                     = (*engine.PermitSemaphore).TrySetPermits
	_ func(*engine.PermitSemaphore, context.Context, int64) error                                             = (*engine.PermitSemaphore).SetPermits
	_ func(*engine.PermitSemaphore, context.Context, int64) error                                             = (*engine.PermitSemaphore).AddPermits
	_ func(*engine.PermitSemaphore, context.Context) (bool, error)                                            = (*engine.PermitSemaphore).Delete
	_ func(*engine.PermitSemaphore, context.Context) (int64, error)                                           = (*engine.PermitSemaphore).Available
	_ func(*engine.PermitSemaphore, context.Context) (int64, error)                                           = (*engine.PermitSemaphore).Acquired
	_ func(*engine.Hold) []string                                                                             = (*engine.Hold).PermitIDs

	_ func(*engine.Engine, string, int) *engine.Limit = (*engine.Engine).Limit
	_ func(*engine.Limit, int) engine.Locker          = (*engine.Limit).Of
	_ engine.Locker                                   = (*engine.Limit)(nil)

	_ func(*engine.Engine, string) *engine.CountDownLatch                                           = (*engine.Engine).CountDownLatch
	_ func(*engine.CountDownLatch, context.Context, ...engine.LockOption) error                     = (*engine.CountDownLatch).Wait
	_ func(*engine.CountDownLatch, context.Context, ...engine.LockOption) *futures.Future[struct{}] = (*engine.CountDownLatch).WaitAsync
	_ func(*engine.CountDownLatch, context.Context) error                                           = (*engine.CountDownLatch).CountDown
	_ func(*engine.CountDownLatch, context.Context) (int64, error)                                  = (*engine.CountDownLatch).Count
	_ func(*engine.CountDownLatch, context.Context, int64) (bool, error)                            = (*engine.CountDownLatch).TrySetCount
	_ func(*engine.CountDownLatch, context.Context) (bool, error)                                   = (*engine.CountDownLatch).Delete

	_ func(*engine.Engine, string) *engine.RWMutex = (*engine.Engine).RWMutex
	_ func(*engine.RWMutex) *engine.Mutex          = (*engine.RWMutex).Reader
	_ func(*engine.RWMutex) *engine.Mutex          = (*engine.RWMutex).Writer

	_ func(*engine.Engine, string) *engine.Semaphore                                                  = (*engine.Engine).Semaphore
	_ func(*engine.Semaphore, context.Context, int64, ...engine.LockOption) error                     = (*engine.Semaphore).Acquire
	_ func(*engine.Semaphore, context.Context, int64, ...engine.LockOption) error                     = (*engine.Semaphore).TryAcquire
	_ func(*engine.Semaphore, context.Context, int64, ...engine.LockOption) *futures.Future[struct{}] = (*engine.Semaphore).AcquireAsync
	_ func(*engine.Semaphore, context.Context, int64, ...engine.LockOption) *futures.Future[struct{}] = (*engine.Semaphore).TryAcquireAsync
	_ func(*engine.Semaphore, context.Context, int64) error                                           = (*engine.Semaphore).Release
	_ func(*engine.Semaphore, context.Context, int64) *futures.Future[struct{}]                       = (*engine.Semaphore).ReleaseAsync
	_ func(*engine.Semaphore, context.Context, int64) (bool, error)                                   = (*engine.Semaphore).TrySetPermits
	_ func(*engine.Semaphore, context.Context, int64) error                                           = (*engine.Semaphore).AddPermits
	_ func(*engine.Semaphore, context.Context) (int64, error)                                         = (*engine.Semaphore).Drain
	_ func(*engine.Semaphore, context.Context) (int64, error)                                         = (*engine.Semaphore).Available

	_ func(*engine.Engine, string) *engine.CountDownLatch                                           = (*engine.Engine).CountDownLatch
	_ func(*engine.CountDownLatch, context.Context, ...engine.LockOption) error                     = (*engine.CountDownLatch).Wait
	_ func(*engine.CountDownLatch, context.Context, ...engine.LockOption) *futures.Future[struct{}] = (*engine.CountDownLatch).WaitAsync
	_ func(*engine.CountDownLatch, context.Context) error                                           = (*engine.CountDownLatch).CountDown
	_ func(*engine.CountDownLatch, context.Context) (int64, error)                                  = (*engine.CountDownLatch).Count
	_ func(*engine.CountDownLatch, context.Context, int64) (bool, error)                            = (*engine.CountDownLatch).TrySetCount
	_ func(*engine.CountDownLatch, context.Context) (bool, error)                                   = (*engine.CountDownLatch).Delete

	_ func(time.Duration) engine.LockOption = engine.WithLease
	_ func(time.Duration) engine.LockOption = engine.WithWait
	_ func(engine.Owner) engine.LockOption  = engine.WithOwner
	_ func() engine.LockOption              = engine.WithFailFast
	_ func(int) engine.LockOption           = engine.WithQueue
	_ func(string) engine.LockOption        = engine.WithNote
	_ func(func() error) engine.LockOption  = engine.WithAlive
	_ func(*engine.Engine) bool             = (*engine.Engine).Up
	_ func() engine.Owner                   = engine.NewOwner
	_ map[engine.Owner]bool                 // comparable

	_ func(*engine.Hold, context.Context) error                = (*engine.Hold).Unlock
	_ func(*engine.Hold) *futures.Future[struct{}]             = (*engine.Hold).UnlockAsync
	_ func(*engine.Hold, context.Context) context.Context      = (*engine.Hold).Context
	_ func(*engine.Hold) <-chan struct{}                       = (*engine.Hold).Done
	_ func(*engine.Hold) error                                 = (*engine.Hold).Err
	_ func(*engine.Hold) time.Time                             = (*engine.Hold).Deadline
	_ func(*engine.Hold, context.Context, time.Duration) error = (*engine.Hold).Extend
	_ func(*engine.Hold) (int64, bool)                         = (*engine.Hold).Token
	_ func(*engine.Hold) string                                = (*engine.Hold).Name
	_ func(*engine.Hold) int                                   = (*engine.Hold).Count
	_ func(*engine.Hold) string                                = (*engine.Hold).TenureID

	_ func(*futures.Future[*engine.Hold], func(*engine.Hold, error)) *futures.Future[*engine.Hold]     = (*futures.Future[*engine.Hold]).Then
	_ func(*futures.Future[*engine.Hold], context.Context) (*engine.Hold, error)                       = (*futures.Future[*engine.Hold]).Wait
	_ func(*futures.Future[*engine.Hold]) bool                                                         = (*futures.Future[*engine.Hold]).Cancel
	_ func(*futures.Future[*engine.Hold]) <-chan struct{}                                              = (*futures.Future[*engine.Hold]).Done
	_ func(*futures.Future[*engine.Hold]) (*engine.Hold, error)                                        = (*futures.Future[*engine.Hold]).Result
	_ func(*futures.Future[*engine.Hold], func(*engine.Hold, error) (int, error)) *futures.Future[int] = futures.Map[*engine.Hold, int]
	_ func(...*futures.Future[*engine.Hold]) *futures.Future[[]*engine.Hold]                           = futures.All[*engine.Hold]
	_ error                                                                                            = futures.ErrPending
	_ error                                                                                            = (*futures.PanicError)(nil)

	_ func(testing.TB, engine.Options) (*engine.Engine, *enginetest.Server) = enginetest.New
	_ func(*enginetest.Server, string)                                      = (*enginetest.Server).Lose
	_ func(*enginetest.Server, bool)                                        = (*enginetest.Server).SetDown

	_ = engine.State{Locked: true, Ours: true, Owner: "", Count: int(0), TTL: time.Duration(0), Token: int64(0), Kind: engine.KindMutex, Since: time.Time{}, Note: ""}
	_ = engine.HeldError{Name: "", TTL: time.Duration(0), Note: ""}
	_ = engine.Options{
		Redis: rueidis.ClientOption{}, Lease: time.Duration(0), MaxHold: time.Duration(0), FairWaiterLease: time.Duration(0), FenceTTL: time.Duration(0), HandoffTime: time.Duration(0),
		MaxRequests: int(0), MaxWaitersPerName: int(0), Callbacks: int(0), PubSub: engine.PubSubAuto, WatchLoss: false,
		NameMapper: func(string) string { return "" }, Logger: (*slog.Logger)(nil),
		Identity: "", Observer: &engine.Observer{Granted: func(engine.Grant) {}, Failed: func(engine.Failure) {}, Ended: func(engine.End) {}},
	}
	_ = engine.Grant{Name: "", Kind: engine.KindMutex, Waited: time.Duration(0), HandedOn: true, Reentry: true}
	_ = engine.Failure{Name: "", Kind: engine.KindMutex, Waited: time.Duration(0), Err: error(nil)}
	_ = engine.End{Name: "", Kind: engine.KindMutex, Held: time.Duration(0), Err: error(nil)}
	_ = [...]engine.PubSub{engine.PubSubAuto, engine.PubSubPlain, engine.PubSubSharded, engine.PubSubBoth}
)

func TestContractGroupsOfErrors(t *testing.T) {
	sentinels := []error{
		engine.ErrHeld, engine.ErrWaitTimeout,
		engine.ErrUnavailable, engine.ErrNotSent, engine.ErrUncertain, engine.ErrOverloaded, engine.ErrRefused, engine.ErrNotReplicated,
		engine.ErrLost, engine.ErrMaxHold, engine.ErrUnlocked,
		engine.ErrInvalid, engine.ErrForeignKey, engine.ErrDeadlock, engine.ErrClosed,
	}
	groups := map[error][]error{
		engine.ErrNotSent:       {engine.ErrUnavailable},
		engine.ErrUncertain:     {engine.ErrUnavailable},
		engine.ErrOverloaded:    {engine.ErrUnavailable},
		engine.ErrRefused:       {engine.ErrUnavailable},
		engine.ErrNotReplicated: {engine.ErrUnavailable},
		engine.ErrMaxHold:       {engine.ErrLost},
	}
	held := &engine.HeldError{Name: "stock:7", TTL: time.Second}
	groups[held] = []error{engine.ErrHeld}
	for _, err := range append(slices.Clone(sentinels), held) {
		for _, target := range sentinels {
			want := err == target || slices.Contains(groups[err], target)
			for _, err := range []error{err, fmt.Errorf("taking stock: %w", err)} {
				if got := errors.Is(err, target); got != want {
					t.Errorf("errors.Is(%q, %q) = %t, want %t", err, target, got, want)
				}
			}
		}
	}
	var found *engine.HeldError
	if !errors.As(fmt.Errorf("taking stock: %w", held), &found) || found != held {
		t.Errorf("As = %v", found)
	}
}

func TestContractLockerIsSealed(t *testing.T) {
	locker := reflect.TypeFor[engine.Locker]()
	for i := range locker.NumMethod() {
		if !locker.Method(i).IsExported() {
			return
		}
	}
	t.Error("anybody can implement Locker")
}

// What is exported by mistake cannot be taken back.
func TestContractShowsNothingInternal(t *testing.T) {
	for _, v := range []any{
		(*engine.Engine)(nil), (*engine.Mutex)(nil), (*engine.MultiLock)(nil), (*engine.QuorumLock)(nil), (*engine.RWMutex)(nil),
		(*engine.Semaphore)(nil), (*engine.Limit)(nil), (*engine.CountDownLatch)(nil), (*engine.Hold)(nil), (*enginetest.Server)(nil),
	} {
		handle := reflect.TypeOf(v)
		for i := range handle.NumMethod() {
			m := handle.Method(i)
			for in := range m.Type.NumIn() {
				wantPublic(t, m, m.Type.In(in))
			}
			for out := range m.Type.NumOut() {
				wantPublic(t, m, m.Type.Out(out))
			}
		}
	}
}

func wantPublic(t *testing.T, m reflect.Method, shown reflect.Type) {
	t.Helper()
	for shown.Kind() == reflect.Pointer || shown.Kind() == reflect.Slice {
		shown = shown.Elem()
	}
	for _, hidden := range []string{"/internal/", "/dispatcher", "/scripts", "/wheel"} {
		if strings.Contains(strings.TrimPrefix(shown.PkgPath(), module), hidden) {
			t.Errorf("%v shows %v", m.Func.Type(), shown)
		}
	}
}

// A log of the options has all of them.
func TestContractOptionsInTextAreComplete(t *testing.T) {
	text := engine.Options{}.String()
	for _, f := range reflect.VisibleFields(reflect.TypeFor[engine.Options]()) {
		switch f.Name {
		case "NameMapper", "Observer", "Logger":
			continue
		}
		if !strings.Contains(text, f.Name+":") {
			t.Errorf("%s does not show %s", text, f.Name)
		}
	}
}

func TestContractOptionsOfCallsCostNoMemory(t *testing.T) {
	var sink engine.LockOption
	owner := engine.NewOwner()
	allocs := testing.AllocsPerRun(100, func() {
		for _, sink = range [...]engine.LockOption{engine.WithLease(time.Minute), engine.WithWait(time.Second), engine.WithOwner(owner)} {
		}
	})
	if allocs != 0 || reflect.TypeOf(sink).Kind() != reflect.Struct {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

func TestContractOwnersAreDistinct(t *testing.T) {
	seen := map[engine.Owner]bool{{}: true}
	for range 1000 {
		o := engine.NewOwner()
		if seen[o] {
			t.Fatal("NewOwner returned an owner twice, or the zero Owner")
		}
		seen[o] = true
	}
}

func TestContractStatsInJSON(t *testing.T) {
	text, err := json.Marshal(engine.Stats{})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"up", "held", "waiting", "granted", "lost", "refused", "uncertain", "overflowed", "oldest_hold", "waits", "batches"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("no %q in %v", name, slices.Sorted(maps.Keys(fields)))
		}
	}
}
