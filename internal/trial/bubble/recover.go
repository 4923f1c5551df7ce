package bubble

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/scripts"
)

// permitsSet is how many permits each name has.
const permitsSet = 3

// furnish sets what counts.
func (w *World) furnish() {
	ctx := w.processes[0].alive
	for _, s := range w.subjects {
		e := w.processes[0].engine(0)
		set := func(context.Context, int64) (bool, error) { return false, nil }
		switch s.kind {
		case permitKind:
			set = e.PermitSemaphore(s.name).TrySetPermits
		case semaphoreKind:
			set = e.Semaphore(s.name).TrySetPermits
		default:
			continue
		}
		for _, err := set(ctx, permitsSet); err != nil; _, err = set(ctx, permitsSet) { // a goroutine is kept from running
			w.note("setting permits: %v", err)
		}
		s.tally.total = permitsSet
	}
}

// recoverTime is after how long nothing may be left of what was uncertain: notAfter, and the pauses of those who find no connection.
const recoverTime = 6 * time.Second

// settle waits until everything has settled, and judges what is left. Nobody holds anything.
func (w *World) settle() {
	if w.failed() {
		return
	}
	for _, p := range w.processes { // what was held up arrives
		time.Sleep(-p.well())
	}
	time.Sleep(recoverTime + w.plan.lease/3)
	for _, p := range w.processes {
		engines, _ := p.all()
		for i, e := range engines {
			if s := e.Stats(); s.Held != 0 || s.AtRisk != 0 || s.Waiting != 0 || !s.Up {
				w.violation("recover", "%v, engine %d: %d holds, %d at risk, %d waiters, up %t", p, i, s.Held, s.AtRisk, s.Waiting, s.Up)
			}
		}
	}
	for _, p := range w.processes {
		p.overflows()
	}
	w.judge.lookForOrphans()
	w.judge.look()
	w.judge.review()
	w.queues()
	before := w.commands()
	time.Sleep(4 * time.Second)
	if n := w.commands() - before; n > w.idleMost() {
		w.violation("recover", "%d commands in 4s in which nobody wants anything", n)
	}
	for _, s := range w.servers {
		if channels := s.Subscriptions(); len(channels) > 0 {
			w.violation("recover", "%s: subscriptions left: %v", s.Name, channels)
		}
	}
}

// queues checks that the queue of a fair lock has only waiters of dead processes: the next caller skips those.
func (w *World) queues() {
	for _, s := range w.subjects {
		if s.kind != fairKind {
			continue
		}
		for _, place := range w.servers[0].Do("LRANGE", scripts.FairQueue(s.name), "0", "-1").Array {
			if p := w.judge.owner(place.Str); p != nil && p.lives(place.Str) {
				w.violation("recover", "%v stands in the queue of %s as %s, and wants nothing", p, s.name, place.Str)
			}
		}
	}
}

// idleMost is how many commands may be sent in 4 s in which nobody wants anything, besides PING: connections that have rested are
// put in order.
func (w *World) idleMost() int { return 30 * len(w.processes) * len(w.servers) }

func (w *World) commands() (n int) {
	for _, s := range w.servers {
		n += s.Commands()
	}
	return n
}

// mayStay reports whether a key is for good.
func (w *World) mayStay(key string) bool {
	return strings.Contains(key, "redisson_lock_token") || slices.ContainsFunc(w.subjects, func(s *subject) bool {
		return s.kind == fairKind && (key == scripts.FairQueue(s.name) || key == scripts.FairDeadlines(s.name) ||
			key == scripts.FairAlive(s.name) && w.servers[0].Do("EXISTS", scripts.FairQueue(s.name)).Int == 1)
	}) || slices.ContainsFunc(w.subjects, func(s *subject) bool {
		return (s.kind == permitKind || s.kind == semaphoreKind || s.kind == latchKind) && (key == s.name || key == "{"+s.name+"}:timeout")
	})
}

// end closes what there is, and judges that nothing is left.
func (w *World) end() {
	for _, p := range w.processes {
		var all []*engine.Engine
		all, _ = p.all()
		p.die()
		p.closeAll(all)
	}
	for _, p := range w.processes {
		for i, l := range p.links {
			if n := l.Open(); n > 0 {
				w.violation("recover", "%v: %d connections to %s left after Close", p, n, w.servers[i].Name)
			}
		}
	}
	time.Sleep(3*w.plan.lease + 2*time.Minute) // leases and receipts run out; who went without a word is found to have gone
	for _, s := range w.servers {
		if keys := slices.DeleteFunc(s.Keys(), w.mayStay); len(keys) > 0 {
			w.violation("recover", "%s: keys left: %v", s.Name, keys)
		}
		s.Stop()
	}
	time.Sleep(time.Second)
	if left := goroutines(); len(left) > 0 {
		w.violation("recover", "%d goroutines left:\n%s", len(left), strings.Join(left, "\n\n"))
	}
}

// goroutines are the stacks of those of the bubble that are left, besides the one that asks and those of package synctest.
func goroutines() (left []string) {
	b := make([]byte, 1<<20)
	for _, stack := range strings.Split(string(b[:runtime.Stack(b, true)]), "\n\n")[1:] {
		if strings.Contains(stack, "synctest bubble") && !strings.Contains(stack, "testing/synctest.Test") && !strings.Contains(stack, "testingSynctestTest") {
			left = append(left, stack)
		}
	}
	return left
}
