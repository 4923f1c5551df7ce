// Package guard runs a command that must end before its lock does.
//
// The rule: a lock is renewed every third of its lease, so usually two thirds or more of the lease are left. When only a third
// is left, a renewal is overdue for at least a third of the lease, and the command's process group gets TERM. When only a tenth
// is left, a second at most, the group gets KILL. Then the lock ends, and only after that can anybody else have it. If the lock
// ends without warning, because somebody deleted its key or took it away by force, the group gets TERM at once, and KILL as
// much later. A command that got TERM gets KILL also if a renewal succeeds in between.
//
// A lock that a release has given to this process, which waited for it, has ten seconds at most until its first renewal, whatever its
// lease. The command starts after that.
//
// guard.go has the rule, signals.go passes signals on, process_unix.go is one command with its process group, and terminal_unix.go
// shares a terminal with it. Where there are no process groups (process_other.go) the command is killed when it would have got TERM.
package guard

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/wheellock/wheellock/cmd/internal/signals"
)

// Lock is what a command must not outlive.
type Lock struct {
	Lease    time.Duration    // from a renewal to the end
	Deadline func() time.Time // when it ends unless it is renewed
	Err      func() error     // why it has ended; nil: it has not
	Done     <-chan struct{}  // closed when it has ended
	Refused  func(group int)  // called once if the system does not let us end the command's process group
}

// term and kill are how long before the end of a lock the command gets these signals.
func (l *Lock) term() time.Duration { return l.Lease / 3 }
func (l *Lock) kill() time.Duration { return min(l.Lease/10, time.Second) }

// MinLease is the shortest lease of a Lock: a tenth of it is enough to end a process.
const MinLease = time.Second

// errOverdue is why a command is ended before its lock is.
var errOverdue = errors.New("not renewed in time")

// Outcome is how a command ended.
type Outcome struct {
	Exit        int   // its exit code, or 128 plus the signal that ended it
	Lost        error // why it was ended; nil: it ended by itself
	Asked       bool  // TERM or Ctrl-C came while it ran
	interrupted bool  // Ctrl-C ended it, at the terminal that it had
}

// renewed waits until most of the lease is left. The error: the lock, or ctx, has ended before.
func (l *Lock) renewed(ctx context.Context) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for l.Err() == nil && time.Until(l.Deadline()) < l.Lease/2 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return l.Err()
}

// Run runs a command until it ends or the lock is nearly over. more is added to its environment. The error: it could not be started.
func Run(lock Lock, command, more []string, signals *Signals) (o Outcome, err error) {
	if err := lock.renewed(signals.ctx); err != nil {
		return Outcome{}, err
	}
	runtime.LockOSThread() // on Linux the command is killed when the thread that started it ends
	defer runtime.UnlockOSThread()
	p, err := signals.begin(func() (*process, error) { return start(command, environment(more), lock.Refused) })
	if err != nil {
		return Outcome{}, err
	}
	defer func() { o.Asked = signals.over() }()
	w := watch{lock: lock, process: p}
	done := lock.Done
	tick := time.NewTicker(lock.kill() / 4)
	defer tick.Stop()
	for {
		select {
		case change := <-p.changes:
			switch {
			case change.over:
				return w.outcome(change), nil
			case p.suspend(change.stopped): // time has passed
				w.check()
				p.resume()
			}
		case <-done:
			done = nil
			w.check()
		case <-tick.C:
			w.check()
		}
	}
}

// environment is this process's with more. What a wheellock around this one has told of its own lock is left out.
func environment(more []string) []string {
	all := slices.DeleteFunc(os.Environ(), func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		return slices.Contains([]string{"WHEELLOCK_NAME", "WHEELLOCK_TOKEN", "WHEELLOCK_TERM"}, name)
	})
	return append(all, more...)
}

// watch ends a process in time.
type watch struct {
	lock    Lock
	process *process
	lost    error     // why the process is ended; nil: it is not
	killAt  time.Time // when it gets KILL, once it is ended
}

// check looks how much time is left.
func (w *watch) check() {
	now, err := time.Now(), w.lock.Err()
	left := w.lock.Deadline().Sub(now)
	switch {
	case w.lost == nil && err == nil && left > w.lock.term():
		return
	case w.lost == nil && err != nil:
		w.lost, w.killAt = err, now.Add(min(left, w.lock.kill()))
	case w.lost == nil:
		w.lost, w.killAt = errOverdue, now.Add(left-w.lock.kill())
	case now.Before(w.killAt):
		return
	}
	if now.Before(w.killAt) {
		w.process.terminate()
		return
	}
	w.process.send(syscall.SIGKILL)
}

// outcome is that of a process that is over. What it left in its process group does not go on after a loss.
func (w *watch) outcome(c change) Outcome {
	w.process.end(w.lost != nil)
	o := Outcome{Exit: c.exit, Lost: w.lost}
	if c.signal != 0 {
		o.Exit = signals.ExitCode(c.signal)
	}
	o.interrupted = c.signal == syscall.SIGINT && w.process.foreground
	return o
}

// change is what happened to a process.
type change struct {
	over    bool
	exit    int            // its exit code
	signal  syscall.Signal // that ended it; 0: none
	stopped syscall.Signal // that stopped it
}
