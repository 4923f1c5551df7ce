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
// It is the strategy of a fair mutex. A mutex consults it when it asks, is answered, and releases; nil is the strategy of
// the other mutexes, which serve in the order of arrival here: what is asked of it for every mutex does nothing then.
type fairQueue struct {
	next *Waiter // the first waiter without a place in Redis, as far as is known: those before it have one

	leaving   []places // given up here, to be given up in Redis
	out       places   // those that are being given up by the command in flight
	late      []places // given up, once more when nothing can bring them back any more
	lateAt    Time     // when that is, for commands without an answer
	turnGiven bool     // the last command gave up places: others may have their turn

	returning uint64 // the number of the tenure, if its place may come back; else 0

	joinAt  Time    // when the next may join, after a command that proved nothing
	leaveAt Time    // when the next may leave, likewise
	stays   retries // while we hold the lock, in vain
	leaves  retries // likewise
	freshAt Time    // when the engine must say again that it lives

	left      []uint64 // places that are to give up their channels
	listening int32    // how many waiters have been given a subscriber
	confirmed bool     // a channel was subscribed to at some time
	denied    bool     // this user may not listen: the poll cap is all there is
	heardAt   Time     // when a subscription was confirmed last
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
func (l *fairQueue) arrived(w *Waiter) {
	if l.next == nil && !w.Try {
		l.next = w
	}
}

// gone notes a waiter that is about to be taken out of the queue. Its place in Redis is given up.
func (l *fairQueue) gone(w *Waiter) {
	if l.next == w {
		l.next = lasting(w.next)
	}
	if w.heard {
		l.unlisten(w, w.place)
	}
	if w.place != 0 && !w.Try {
		l.leave(w.place)
	}
	w.place = 0
}

func (l *fairQueue) unlisten(w *Waiter, place uint64) {
	w.heard = false
	l.listening--
	l.left = append(l.left, place)
}

// hurry ends all pauses.
func (l *fairQueue) hurry() { l.joinAt, l.leaveAt, l.stays, l.leaves = 0, 0, 0, 0 }

// startOver gives up the places of all waiters, from head on, and has them join again. The number of the first is that of a
// tenure that is being released (rule 4):
//
//  1. The release gets no answer. A copy of it is on its way.
//  2. The first waiter asks under the same number, and gets the lock.
//  3. The copy arrives and frees it.
//
// The others follow the first, for places are in the order of their numbers.
func (l *fairQueue) startOver(head *Waiter, joinAt Time) {
	l.next, l.joinAt = lasting(head), joinAt
	for w := l.next; w != nil; w = lasting(w.next) {
		if w.heard {
			l.unlisten(w, w.place)
		}
		if w.place != 0 {
			l.leave(w.place)
			w.place = 0
		}
	}
}

// leave has a place given up.
func (l *fairQueue) leave(place uint64) {
	if last := len(l.leaving) - 1; last >= 0 {
		if p := &l.leaving[last]; p.first+uint64(p.n) == place && p.n < maxLeave && p.ends == 0 {
			p.n++
			return
		}
	}
	l.leaving = append(l.leaving, places{first: place, n: 1})
}

// lasting is the first waiter from w on that does not ask only once.
func lasting(w *Waiter) *Waiter {
	for w != nil && w.Try {
		w = w.next
	}
	return w
}

// joining gives places to the waiters that are to join, and returns them.
func (l *fairQueue) joining(cfg *Config) (first uint64, n int64) {
	if l.next == nil {
		return 0, 0
	}
	fresh := l.next.place == 0
	for w := l.next; w != nil && n < maxJoin; w = lasting(w.next) {
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
func (l *fairQueue) joined(c *Command) {
	asked := c.Args.FairAsk()
	for w := l.next; w != nil && w.place >= asked.First && w.place < asked.First+uint64(asked.Joining); w = l.next {
		l.next = lasting(w.next)
	}
}

// unsure notes that the answer to a command about the queue was lost.
func (l *fairQueue) unsure(sent Time) {
	if l != nil {
		l.lateAt = max(l.lateAt, lateAfter(sent))
	}
}

// give takes the next places that are to be given up.
func (l *fairQueue) give(now Time) bool {
	if len(l.leaving) == 0 && len(l.late) > 0 && now >= l.late[0].at {
		l.leaving = append(l.leaving, l.late[0])
		l.late = l.late[1:]
	}
	if len(l.leaving) == 0 || now < l.leaveAt {
		return false
	}
	l.out, l.leaving = l.leaving[0], l.leaving[1:]
	return true
}

// returned has the place of the tenure that is released given up, if a command without an answer may have put it back into the
// queue, or may yet: everybody behind it would wait until the liveness of this engine is over. Not earlier, for giving up a
// place also frees what its owner holds.
func (l *fairQueue) returned() {
	if l != nil && l.returning != 0 {
		l.late = append(l.late, places{first: l.returning, n: 1, at: l.lateAt})
		l.returning = 0
	}
}

// given is the answer to the command that gave places up.
func (l *fairQueue) given(now Time, c *Command) {
	fault := c.Reply.Fault()
	if c.Result == Answered && fault == scripts.None {
		l.leaves = 0
		if l.lateAt > c.Sent { // somebody may still put them in
			l.late = append(l.late, places{first: l.out.first, n: l.out.n, at: l.lateAt})
		}
		return
	}
	_, pause := unfreed(c, &l.leaves)
	l.leaveAt = now + pause
	switch refused := c.Result != NotSent && c.Result != Unknown; {
	case !refused: // however long Redis cannot be reached: the queue may have no end of life
	case l.out.ends == 0:
		l.out.ends = now + forgotten
	case now >= l.out.ends:
		return
	}
	l.leaving = append([]places{l.out}, l.leaving...)
}

// listen gives the first waiters a subscriber, for the message that says that it is their turn.
func (l *fairQueue) listen(e *Entry, head *Waiter, cfg *Config, fx *Effects) {
	if l.denied || head.heard && l.listening > maxListening/2 {
		return
	}
	n := 0
	for w := lasting(head); w != nil && w != l.next && n < maxListening; w = lasting(w.next) {
		n++
		if !w.heard {
			w.heard = true
			l.listening++
			fx.Subscriptions = append(fx.Subscriptions, SubscriptionChange{Entry: e, Channel: cfg.channelOf(e, w.place), On: true})
		}
	}
}

// channelOf is where a place hears that it is its turn.
func (cfg *Config) channelOf(e *Entry, place uint64) string {
	return scripts.FairChannel(e.Name, cfg.UUID+":"+strconv.FormatUint(place, 10))
}

// unsubscribe gives up the channels of waiters that have gone.
func (l *fairQueue) unsubscribe(e *Entry, cfg *Config, fx *Effects) {
	for _, place := range l.left {
		fx.Subscriptions = append(fx.Subscriptions, SubscriptionChange{Entry: e, Channel: cfg.channelOf(e, place)})
	}
	l.left = l.left[:0]
}

// nextAlarm is when something about the queue is due while no command is in flight.
func (l *fairQueue) nextAlarm() Time {
	at := Never
	if len(l.leaving) > 0 {
		at = l.leaveAt
	} else if len(l.late) > 0 {
		at = max(l.late[0].at, l.leaveAt)
	}
	if l.next != nil {
		at = min(at, l.joinAt)
	}
	return at
}

func (l *fairQueue) idle() bool {
	return l == nil || len(l.leaving) == 0 && len(l.late) == 0
}
