package gate

import (
	"math"
	"slices"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// News is the messages that came on a channel since the loop last looked.
type News struct {
	Channel string
	N       int32 // how many
	Most    int64 // the largest number in them

	codes [4]int64 // the first numbers that may be a code. A process awaits one for a name. If others flood the channel, it may be lost
	ones  int32    // how many were a 1
	kept  uint8
}

// Add adds a message with that number. On the channel of a mutex a 1 is for waiters of Redisson: an older version of this library sends it.
func (n *News) Add(said int64) {
	if n.N == 0 || said > n.Most {
		n.Most = said
	}
	if n.N < math.MaxInt32 {
		n.N++
		if said == 1 {
			n.ones++
		}
	}
	if said != 0 && said != 1 && int(n.kept) < len(n.codes) { // these are Redisson's
		n.codes[n.kept] = said
		n.kept++
	}
}

// has reports whether one of the first of the messages was that number, which is neither 0 nor 1.
func (n *News) has(said int64) bool { return slices.Contains(n.codes[:n.kept], said) }

// subscription is the subscription to a channel about a name.
type subscription struct {
	channel string
	linger  Time // when it ends, because nobody needs it
	state   subscriptionState
}

// subscriptionState is the state of a subscription.
type subscriptionState uint8

const (
	unsubscribed    subscriptionState = iota // there is none
	subscribing                              // asked for
	subscribed                               // confirmed
	subscribeDenied                          // this user may not subscribe: the waiters ask after the poll cap
)

// lingerTime is how long a subscription outlives its last waiter: hot names need it again soon.
const lingerTime = time.Second

// subscribe asks for the name's channel, or, if inboxOf is not nil, for the inbox of that engine, unless that was done.
func (s *subscription) subscribe(e *Entry, inboxOf *Config, fx *Effects) {
	if s.state != unsubscribed {
		return
	}
	s.state, s.channel = subscribing, channels[e.Kind](e.Name)
	if inboxOf != nil {
		s.channel = scripts.Inbox(s.channel, inboxOf.UUID)
	}
	fx.Subscriptions = append(fx.Subscriptions, SubscriptionChange{Entry: e, Channel: s.channel, On: true})
}

// setLinger sets the end of the subscription when nobody needs it any more, and cancels it when somebody does.
func (s *subscription) setLinger(now Time, needed bool) {
	switch {
	case s.state == unsubscribed:
	case needed:
		s.linger = Never
	case s.linger == Never:
		s.linger = now + lingerTime
	}
}

// unsubscribeIdle ends the subscription when its linger is over.
func (s *subscription) unsubscribeIdle(now Time, e *Entry, fx *Effects) {
	if now < s.linger {
		return
	}
	s.linger = Never
	if s.state != subscribeDenied && s.state != unsubscribed {
		fx.Subscriptions = append(fx.Subscriptions, SubscriptionChange{Entry: e, Channel: s.channel})
	}
	s.state = unsubscribed
}

// ownSubscriptions is how many of the channel's subscribers are this process.
func (s *subscription) ownSubscriptions() int64 {
	if s.state == subscribed || s.state == subscribing {
		return 1
	}
	return 0
}

// close forgets the subscription: its connection closes with the engine.
func (s *subscription) close() { s.state, s.linger = unsubscribed, Never }

// listening is the subscription to a name's channel. Our own messages come back on it, and are hints like any other.
type listening struct {
	subscription
	heedAt Time  // when a message may lead to a question again
	vain   uint8 // questions in a row that a message may have caused, and that found nothing changed
	own    bool  // the next message may be that of our own release: it tells of nobody else
}

const (
	// vainQuestions is how many questions in a row may find nothing changed before messages lead to fewer questions.
	vainQuestions = 10
	// From then on a message leads to a question at the earliest 1 ms after the last one, doubling to 16 ms: if a channel is flooded, each
	// engine asks for the name at most 60 times a second.
	longestHeed = 16 * time.Millisecond
)

// noteFound records whether a question found a change since the one before. Another owner is a change, so a lock with many rivals is asked
// for as often as it is freed.
func (l *listening) noteFound(now Time, changed bool) {
	if changed {
		l.vain, l.heedAt = 0, 0
		return
	}
	if l.vain < vainQuestions {
		l.vain++
		return
	}
	if now < l.heedAt {
		return
	}
	pause := time.Millisecond << (l.vain - vainQuestions)
	if pause < longestHeed {
		l.vain++
	}
	l.heedAt = now + pause
}
