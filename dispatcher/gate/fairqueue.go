package gate

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// fairQueue is the places of this process in the queue of a fair lock in Redis. Each waiter has a place of its own, with the owner number
// that it will have as owner. The places are in the order of the waiters. One command joins, leaves or stays alive for many waiters at
// once.
//
// Only a fair mutex has a fairQueue. All other locks grant in the order of arrival in this process.
type fairQueue struct {
	toJoin *Waiter // the first waiter without a place, as far as is known: those before it have one

	leaving    []places // places that are to be given up in Redis
	sorted     int      // so many of them, the first, are in the order of their numbers
	leavingNow places   // the places that the command in flight gives up
	late       []places // places to give up when no command can bring them back any more
	lateAt     Time     // when the last command without an answer cannot run any more
	justLeft   bool     // the last command gave up places: a question comes before the next

	returning uint64 // the owner number of the lease, if its place may come back; else 0

	joinAt     Time    // when the next waiters may join, after a FairAsk that failed
	leaveAt    Time    // when the next places may be given up, after a FairLeave that failed
	stayTries  retries // failures in a row of FairAsks while we hold the lock
	leaveTries retries // failures in a row of FairLeaves
	freshAt    Time    // when the engine must renew its liveness

	dropped     []uint64 // places with channels to unsubscribe from
	listening   int32    // how many waiters have a channel
	confirmed   bool     // a channel has been confirmed
	denied      bool     // this user may not subscribe: the waiters ask after the poll cap
	confirmedAt Time     // when a channel was confirmed last
}

// places are the n places from first on.
type places struct {
	first uint64
	n     int64
	at    Time // when they may be given up
	ends  Time // when Redis has surely forgotten them; 0: it has not refused to remove them yet
}

const (
	// maxLeave bounds the places that one command gives up, each of which it searches the queue for.
	maxLeave = 16
	// maxListening bounds the waiters of a process that listen. A message goes to the head of the whole queue, which is the first waiter of
	// its process. The next few subscribe ahead of time, together.
	maxListening = 8
	// forgotten is how long a place can stand in Redis, whatever happened (WAIT in scripts/fair.lua).
	forgotten = 5 * time.Minute
)

// arrived notes a waiter that was added at the end of the queue.
func (f *fairQueue) arrived(w *Waiter) {
	if f.toJoin == nil && !w.Try {
		f.toJoin = w
	}
}

// removed notes a waiter that leaves the queue, and gives up its place in Redis.
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

// dropChannel ends the subscription of a waiter that had a channel; place is where it stood.
func (f *fairQueue) dropChannel(w *Waiter, place uint64) {
	w.subscribed = false
	f.listening--
	f.dropped = append(f.dropped, place)
}

// endPauses ends all pauses.
func (f *fairQueue) endPauses() { f.joinAt, f.leaveAt, f.stayTries, f.leaveTries = 0, 0, 0, 0 }

// joinAnew gives up the places of all waiters from head on, and has them join again. It is called when the number of the first is that of
// an owner that is being released. That number must not be used again (invariant: released-owner-is-dead):
//
//  1. The release gets no answer. A copy of it is on its way.
//  2. The first waiter asks under the same number, and gets the lock.
//  3. The copy arrives and frees it.
//
// The others must follow the first, because places are in the order of their numbers.
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

// leave adds a place to those that are to be given up.
func (f *fairQueue) leave(place uint64) { f.leaving = append(f.leaving, places{first: place, n: 1}) }

// firstLasting is the first waiter from w on that does not ask only once.
func firstLasting(w *Waiter) *Waiter {
	for w != nil && w.Try {
		w = w.next
	}
	return w
}

// joining gives places to the waiters that are to join, and returns these.
func (f *fairQueue) joining(cfg *Config) (first uint64, n int64) {
	if f.toJoin == nil {
		return 0, 0
	}
	fresh := f.toJoin.place == 0
	for w := f.toJoin; w != nil && n < mostServed; w = firstLasting(w.next) {
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

// joined notes that the waiters of a FairAsk have their places.
func (f *fairQueue) joined(c *Command) {
	asked := c.Args.FairAsk()
	for w := f.toJoin; w != nil && w.place >= asked.First && w.place < asked.First+uint64(asked.Joining); w = f.toJoin {
		f.toJoin = firstLasting(w.next)
	}
}

// unanswered notes that a command about the queue got no answer.
func (f *fairQueue) unanswered(sent Time) { f.lateAt = max(f.lateAt, lateAfter(sent)) }

// takeLeaving takes the next places that are to be given up. False: there are none, or it is too early.
func (f *fairQueue) takeLeaving(now Time) bool {
	if len(f.leaving) == 0 && len(f.late) > 0 && now >= f.late[0].at {
		f.leaving = append(f.leaving, f.late[0])
		f.late = f.late[1:]
	}
	if len(f.leaving) == 0 || now < f.leaveAt {
		return false
	}
	if f.sorted == 0 { // many leave by one command, from the head of the queue on, in whatever order their waiters have gone
		slices.SortFunc(f.leaving, func(a, b places) int { return cmp.Compare(a.first, b.first) })
		f.sorted = len(f.leaving)
	}
	next, rest, k := &f.leavingNow, f.leaving, 1
	for *next = rest[0]; k < f.sorted && rest[k].first == next.first+uint64(next.n) && next.n+rest[k].n <= maxLeave && next.ends == 0 && rest[k].ends == 0; k++ {
		next.n += rest[k].n
	}
	f.leaving, f.sorted = rest[k:], f.sorted-k
	return true
}

// leaveReturning has the place of a lease given up when the lease is released, if a command without an answer may put it back into the
// queue: everybody behind it would wait until the liveness of this engine is over. It is not done earlier, because giving up a place also
// frees the lock if its owner has it.
func (f *fairQueue) leaveReturning() {
	if f.returning != 0 {
		f.late = append(f.late, places{first: f.returning, n: 1, at: f.lateAt})
		f.returning = 0
	}
}

// answeredLeave handles the answer to a FairLeave.
func (f *fairQueue) answeredLeave(now Time, c *Command) {
	fault := c.Reply.Fault()
	if c.Result == Answered && fault == scripts.None {
		f.leaveTries = 0
		if f.lateAt > c.Sent { // a command may still put them back
			f.late = append(f.late, places{first: f.leavingNow.first, n: f.leavingNow.n, at: f.lateAt})
		}
		return
	}
	_, pause := unreleasedOutcome(c, &f.leaveTries)
	f.leaveAt = now + pause
	switch refused := c.Result != NotSent && c.Result != Unknown; {
	case !refused: // repeated for as long as Redis cannot be reached, for the queue may not expire
	case f.leavingNow.ends == 0:
		f.leavingNow.ends = now + forgotten
	case now >= f.leavingNow.ends:
		return
	}
	f.leaving, f.sorted = append([]places{f.leavingNow}, f.leaving...), f.sorted+1
}

// subscribe gives the first waiters a channel each, for the message that it is their turn.
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

// channelOf is the channel on which a place receives its turn.
func (c *Config) channelOf(e *Entry, place uint64) string {
	return scripts.FairChannel(e.Name, c.UUID+":"+strconv.FormatUint(place, 10))
}

// unsubscribe ends the subscriptions of places that are gone.
func (f *fairQueue) unsubscribe(e *Entry, cfg *Config, fx *Effects) {
	for _, place := range f.dropped {
		fx.Subscriptions = append(fx.Subscriptions, SubscriptionChange{Entry: e, Channel: cfg.channelOf(e, place)})
	}
	f.dropped = f.dropped[:0]
}

// nextAlarm is when the next command about places is due.
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
