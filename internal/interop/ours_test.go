package interop

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// Ours obeys the driver's commands (bench/redisson/README.md) with engines of ours, so that one script can be played
// by both sides. Each thread is an engine and an owner of its own, as if it were a process.
type Ours struct {
	open func() *engine.Engine

	mu      sync.Mutex // guards the rest
	threads map[string]*thread
}

// thread is who a label of the driver's stands for.
type thread struct {
	*engine.Engine
	me    engine.LockOption
	holds map[string][]*engine.Hold // by kind and name, the innermost last; its caller's alone
}

// NewOurs opens engines when their threads first do something.
func NewOurs(open func() *engine.Engine) *Ours {
	return &Ours{open: open, threads: make(map[string]*thread)}
}

func (o *Ours) thread(label string) *thread {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.threads[label] == nil {
		o.threads[label] = &thread{o.open(), engine.WithOwner(engine.NewOwner()), make(map[string][]*engine.Hold)}
	}
	return o.threads[label]
}

// Start begins a command and returns where its answer will be.
func (o *Ours) Start(format string, args ...any) <-chan string {
	words := strings.Fields(fmt.Sprintf(format, args...))
	to := make(chan string, 1)
	go func() {
		answer, err := o.obey(append(words, "", "", "", "", ""))
		if err != nil {
			answer = "err " + err.Error()
		} else {
			answer = strings.TrimRight("ok "+answer, " ")
		}
		to <- answer
	}()
	return to
}

// Try does a command and returns the answer; false: an error, and which.
func (o *Ours) Try(format string, args ...any) (string, bool) {
	return read(<-o.Start(format, args...))
}

// obey does what a command says. w is its words, and enough empty ones.
func (o *Ours) obey(w []string) (string, error) {
	ctx := context.Background()
	switch w[0] + " " + w[1] {
	case "acquire semaphore":
		return "", o.thread(w[3]).Semaphore(w[2]).Acquire(ctx, number(w[4]))
	case "acquire permit":
		return o.acquire(w)
	case "release semaphore":
		return "", o.thread("").Semaphore(w[2]).Release(ctx, number(w[3]))
	case "release permit":
		return "", o.thread("").PermitSemaphore(w[2]).Release(ctx, strings.Split(w[3], ",")...)
	case "set-permits semaphore":
		if w[4] != "" {
			return answer(o.thread("").Semaphore(w[2]).TrySetPermitsFor(ctx, number(w[3]), millis(w[4])))
		}
		return answer(o.thread("").Semaphore(w[2]).TrySetPermits(ctx, number(w[3])))
	case "set-permits permit":
		return answer(o.thread("").PermitSemaphore(w[2]).TrySetPermits(ctx, number(w[3])))
	case "resize permit":
		return "", o.thread("").PermitSemaphore(w[2]).SetPermits(ctx, number(w[3]))
	case "add-permits semaphore":
		return "", o.thread("").Semaphore(w[2]).AddPermits(ctx, number(w[3]))
	case "add-permits permit":
		return "", o.thread("").PermitSemaphore(w[2]).AddPermits(ctx, number(w[3]))
	case "drain semaphore":
		return answer(o.thread("").Semaphore(w[2]).Drain(ctx))
	case "available semaphore":
		return answer(o.thread("").Semaphore(w[2]).Available(ctx))
	case "available permit":
		return answer(o.thread("").PermitSemaphore(w[2]).Available(ctx))
	case "delete semaphore":
		return answer(o.thread("").Semaphore(w[2]).Delete(ctx))
	case "delete permit":
		return answer(o.thread("").PermitSemaphore(w[2]).Delete(ctx))
	case "delete latch":
		return answer(o.thread("").CountDownLatch(w[2]).Delete(ctx))
	}
	switch w[0] {
	case "set-count":
		return answer(o.thread("").CountDownLatch(w[1]).TrySetCount(ctx, number(w[2])))
	case "count-down":
		return "", o.thread("").CountDownLatch(w[1]).CountDown(ctx)
	case "await":
		return "", o.thread(w[2]).CountDownLatch(w[1]).Wait(ctx)
	}
	return o.obeyLock(w)
}

func (o *Ours) obeyLock(w []string) (string, error) {
	th := o.thread(w[3])
	l, key := lockOf(th.Engine, w[1], w[2]), w[1]+" "+w[2]
	switch w[0] {
	case "lock", "try":
		h, err := enter(l, w, th.me)
		if h != nil {
			th.holds[key] = append(th.holds[key], h)
		}
		if w[0] == "lock" {
			return "", err
		}
		if errors.Is(err, engine.ErrHeld) {
			err = nil
		}
		return strconv.FormatBool(h != nil), err
	case "unlock":
		n := len(th.holds[key])
		if n == 0 {
			return "", errors.New("nothing is locked")
		}
		h := th.holds[key][n-1]
		th.holds[key] = th.holds[key][:n-1]
		return "", h.Unlock(context.Background())
	case "force":
		return answer(l.(*engine.Mutex).ForceUnlock(context.Background()))
	case "locked", "ttl":
		state, err := l.(*engine.Mutex).Inspect(context.Background())
		if w[0] == "locked" {
			return strconv.FormatBool(state.Locked), err
		}
		if !state.Locked {
			return "-2", err
		}
		return strconv.FormatInt(state.TTL.Milliseconds(), 10), err
	}
	return "", fmt.Errorf("no such command: %q", w)
}

// enter is "lock kind name thread [leaseMs]" or "try kind name thread [waitMs [leaseMs]]".
func enter(l engine.Locker, w []string, me engine.LockOption) (*engine.Hold, error) {
	var opts []engine.LockOption
	if w[1] != "multi" {
		opts = append(opts, me)
	}
	wait, lease := w[4], w[5]
	if w[0] == "lock" {
		wait, lease = "", w[4]
	}
	if lease != "" {
		opts = append(opts, engine.WithLease(millis(lease)))
	}
	if w[0] == "try" && wait == "" {
		return l.TryLock(context.Background(), opts...)
	}
	if wait != "" {
		opts = append(opts, engine.WithWait(millis(wait)))
	}
	return l.Lock(context.Background(), opts...)
}

// acquire is "acquire permit name thread n [waitMs [leaseMs]]".
func (o *Ours) acquire(w []string) (string, error) {
	var opts []engine.LockOption
	if w[6] != "" {
		opts = append(opts, engine.WithLease(millis(w[6])))
	}
	h, err := o.thread(w[3]).PermitSemaphore(w[2]).Acquire(context.Background(), int(number(w[4])), opts...)
	if err != nil {
		return "", err
	}
	return strings.Join(h.PermitIDs(), ","), nil
}

// lockOf is the lock of a kind, by Redisson's name of it.
func lockOf(e *engine.Engine, kind, name string) engine.Locker {
	if members, multi := strings.CutPrefix(kind, "multi:"); multi {
		var locks []engine.Locker
		for member := range strings.SplitSeq(members, ",") {
			locks = append(locks, e.Mutex(member))
		}
		l, err := engine.Multi(locks...)
		if err != nil {
			panic(err)
		}
		return l
	}
	for _, k := range kinds {
		if k.redisson == kind {
			return k.lock(e, name)
		}
	}
	panic("no such kind: " + kind)
}

func answer[T any](v T, err error) (string, error) { return fmt.Sprint(v), err }

func number(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func millis(word string) time.Duration { return time.Duration(number(word)) * time.Millisecond }
