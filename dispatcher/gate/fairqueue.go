package gate

import (
	"strconv"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// fairQueue is where a process stands in the queue of a fair lock in Redis. Each waiter has a place of its own there,
// the number of the tenure that it will become; its places are in the order of its waiters. All that can be done
// for many waiters is done in one command: joining, leaving, and staying alive, which the engine does as one.
//
// It is the strategy of a fair mutex. A Lock consults it when it asks, is answered, and releases. The other locks have none: they serve in
// the order of arrival here.
type fairQueue struct {
	toJoin *Waiter // the first waiter without a place in Redis, as far as is known: those before it have one

	leaving    []places // given up here, to be given up in Redis
	leavingNow places   // those that are being given up by the command in flight
	late       []places // given up, once more when nothing can bring them back any more
	lateAt     Time     // when that is, for commands without an answer
	justLeft   bool     // the last command gave up places: others may have their turn

	returning uint64 // the number of the tenure, if its place may come back; else 0

	joinAt     Time    // when the next may join, after a command that proved nothing
	leaveAt    Time    // when the next may leave, likewise
	stayTries  retries // while we hold the lock, in vain
	leaveTries retries // likewise
	freshAt    Time    // when the engine must say again that it lives

	dropped     []uint64 // places that are to give up their channels
	listening   int32    // how many waiters have been given a subscriber
	confirmed   bool     // a channel was subscribed to at some time
	denied      bool     // this user may not listen: the poll cap is all there is
	confirmedAt Time     // when a subscription was confirmed last
}

// places are n places from first on.
type places struct {
	first uint64
	n     int64
	at    Time // when they may be given up
	ends  Time // when their deadline in Redis is over for certain; 0: Redis has not refused them yet
}

const (
	// maxJoin and maxLeave are how many places one command takes or gives up: a fraction of a millisecond of the
	// server's time. Leaving looks for each in the queue.
	maxJoin  = 128
	maxLeave = 16
	// maxListening is how many waiters of a process listen: only the head of the whole queue is called, which is the
	// first of its process; the others are given a subscriber ahead of time, a few at once.
	maxListening = 8
	// forgotten is when the deadline of a place in Redis is over, whatever happened (WAIT in scripts/fair.lua).
	forgotten = 5 * time.Minute
)

// arrived notes a waiter that was put at the end of the queue.
func (f *fairQueue) arrived(w *Waiter) {
	if f.toJoin == nil && !w.Try {
		f.toJoin = w
	}
}

// removed notes a waiter that is about to be taken out of the queue. Its place in Redis is given up.
func (f *fairQueue) removed(w *Waiter) {
	if f.toJoin == w {
		f.toJoin = firstLasting(w.next)
	}
	if w.subscribed {
		f.dropChannel(w, w.place)
	}
	if w.place != 0 && !w.Try {
		f.leave(w.place)
	}
	w.place = 0
}

func (f *fairQueue) dropChannel(w *Waiter, place uint64) {
	w.subscribed = false
	f.listening--
	f.dropped = append(f.dropped, place)
}

// endPauses ends all pauses.
func (f *fairQueue) endPauses() { f.joinAt, f.leaveAt, f.stayTries, f.leaveTries = 0, 0, 0, 0 }

// joinAnew gives up the places of all waiters, from head on, and has them join again. The number of the first is that of a
// tenure that is being released (rule 4):
//
//  1. The release gets no answer. A copy of it is on its way.
//  2. The first waiter asks under the same number, and gets the lock.
//  3. The copy arrives and frees it.
//
// The others follow the first, for places are in the order of their numbers.
func (f *fairQueue) joinAnew(head *Waiter, joinAt Time) {
	f.toJoin, f.joinAt = firstLasting(head), joinAt
	for w := f.toJoin; w != nil; w = firstLasting(w.next) {
		if w.subscribed {
			f.dropChannel(w, w.place)
		}
		if w.place != 0 {
			f.leave(w.place)
			w.place = 0
		}
	}
}

// leave has a place given up.
func (f *fairQueue) leave(place uint64) {
	if last := len(f.leaving) - 1; last >= 0 {
		if p := &f.leaving[last]; p.first+uint64(p.n) == place && p.n < maxLeave && p.ends == 0 {
			p.n++
			return
		}
	}
	f.leaving = append(f.leaving, places{first: place, n: 1})
}

// firstLasting is the first waiter from w on that does not ask only once.
func firstLasting(w *Waiter) *Waiter {
	for w != nil && w.Try {
		w = w.next
	}
	return w
}

// joining gives places to the waiters that are to join, and returns them.
func (f *fairQueue) joining(cfg *Config) (first uint64, n int64) {
	if f.toJoin == nil {
		return 0, 0
	}
	fresh := f.toJoin.place == 0
	for w := f.toJoin; w != nil && n < maxJoin; w = firstLasting(w.next) {
		if fresh && w.place == 0 {
			cfg.LastID++
			w.place = cfg.LastID
		}
		if first == 0 {
			first = w.place
		} else if w.place != first+uint64(n) {
			break
		}
		n++
	}
	return first, n
}

// joined notes that the waiters that were to join have their places.
func (f *fairQueue) joined(c *Command) {
	asked := c.Args.FairAsk()
	for w := f.toJoin; w != nil && w.place >= asked.First && w.place < asked.First+uint64(asked.Joining); w = f.toJoin {
		f.toJoin = firstLasting(w.next)
	}
}

// unanswered notes that the answer to a command about the queue was lost.
func (f *fairQueue) unanswered(sent Time) { f.lateAt = max(f.lateAt, lateAfter(sent)) }

// takeLeaving takes the next places that are to be given up.
func (f *fairQueue) takeLeaving(now Time) bool {
	if len(f.leaving) == 0 && len(f.late) > 0 && now >= f.late[0].at {
		f.leaving = append(f.leaving, f.late[0])
		f.late = f.late[1:]
	}
	if len(f.leaving) == 0 || now < f.leaveAt {
		return false
	}
	f.leavingNow, f.leaving = f.leaving[0], f.leaving[1:]
	return true
}

// leaveReturning has the place of the tenure that is released given up, if a command without an answer may have put it back into the
// queue, or may yet: everybody behind it would wait until the liveness of this engine is over. Not earlier, for giving up a
// place also frees what its owner holds.
func (f *fairQueue) leaveReturning() {
	if f.returning != 0 {
		f.late = append(f.late, places{first: f.returning, n: 1, at: f.lateAt})
		f.returning = 0
	}
}

// answeredLeave is the answer to the command that gave places up.
func (f *fairQueue) answeredLeave(now Time, c *Command) {
	fault := c.Reply.Fault()
	if c.Result == Answered && fault == scripts.None {
		f.leaveTries = 0
		if f.lateAt > c.Sent { // somebody may still put them in
			f.late = append(f.late, places{first: f.leavingNow.first, n: f.leavingNow.n, at: f.lateAt})
		}
		return
	}
	_, pause := unreleasedOutcome(c, &f.leaveTries)
	f.leaveAt = now + pause
	switch refused := c.Result != NotSent && c.Result != Unknown; {
	case !refused: // however long Redis cannot be reached: the queue may have no end of life
	case f.leavingNow.ends == 0:
		f.leavingNow.ends = now + forgotten
	case now >= f.leavingNow.ends:
		return
	}
	f.leaving = append([]places{f.leavingNow}, f.leaving...)
}

// subscribe gives the first waiters a subscriber, for the message that says that it is their turn.
func (f *fairQueue) subscribe(e *Entry, head *Waiter, cfg *Config, fx *Effects) {
	if f.denied || head.subscribed && f.listening > maxListening/2 {
		return
	}
	n := 0
	for w := firstLasting(head); w != nil && w != f.toJoin && n < maxListening; w = firstLasting(w.next) {
		n++
		if !w.subscribed {
			w.subscribed = true
			f.listening++
			fx.Subscriptions = append(fx.Subscriptions, SubscriptionChange{Entry: e, Channel: cfg.channelOf(e, w.place), On: true})
		}
	}
}

// channelOf is where a place hears that it is its turn.
func (c *Config) channelOf(e *Entry, place uint64) string {
	return scripts.FairChannel(e.Name, c.UUID+":"+strconv.FormatUint(place, 10))
}

// unsubscribe gives up the channels of waiters that have gone.
func (f *fairQueue) unsubscribe(e *Entry, cfg *Config, fx *Effects) {
	for _, place := range f.dropped {
		fx.Subscriptions = append(fx.Subscriptions, SubscriptionChange{Entry: e, Channel: cfg.channelOf(e, place)})
	}
	f.dropped = f.dropped[:0]
}

// nextAlarm is when something about the queue is due while no command is in flight.
func (f *fairQueue) nextAlarm() Time {
	at := Never
	if len(f.leaving) > 0 {
		at = f.leaveAt
	} else if len(f.late) > 0 {
		at = max(f.late[0].at, f.leaveAt)
	}
	if f.toJoin != nil {
		at = min(at, f.joinAt)
	}
	return at
}

func (f *fairQueue) idle() bool {
	return len(f.leaving) == 0 && len(f.late) == 0
}
