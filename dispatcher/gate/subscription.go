package gate

import (
	"math"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// News is the messages that came on a channel since it was last looked at.
type News struct {
	N    int32 // how many
	Most int64 // the largest number that one of them said

	codes [mostCodes]int64 // what the first of them said that may be the code of a claim
	ones  int32            // how many said 1
	kept  uint8
}

// mostCodes is how many are kept. A name has one claim here. If others fill the channel, its code may be lost as any message may be.
const mostCodes = 4

// Add notes a message, which said that number. On the channel of a mutex a 1 is for waiters of Redisson (scripts/release_claim.lua).
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
	if said > 1 && n.kept < mostCodes { // not one of Redisson's
		n.codes[n.kept] = said
		n.kept++
	}
}

// subscription is a name's subscription to one channel, and what is known of our own messages on it.
type subscription struct {
	channel   string
	linger    Time  // when the subscription ends if nobody waits
	ended     Time  // when it ended last; Redis hears of that later
	heedAt    Time  // from when on a message leads to a question again
	own       int32 // our own messages that have not come back yet
	echo      int32 // how often each of them comes back
	state     subscriptionState
	published bool  // the release in flight is one of them
	missed    bool  // a message that was not heeded came while a question was on its way: it asks at heedAt
	vain      uint8 // questions in a row that a message may have led to and that found nothing changed
}

func newSubscription(cfg *Config) subscription {
	return subscription{linger: Never, echo: max(cfg.Echo, 1)}
}

// subscriptionState is the state of a subscription.
type subscriptionState uint8

const (
	unsubscribed    subscriptionState = iota // not subscribed
	subscribing                              // subscription asked for
	subscribed                               // confirmed
	subscribeDenied                          // this user may not listen: the poll cap is all there is
)

// lingerTime is how long a subscription outlives its last waiter, for hot names.
const lingerTime = time.Second

// subscribe subscribes to a channel, unless that was done.
func (s *subscription) subscribe(e *Entry, channel func(string) string, fx *Effects) {
	s.linger = Never
	if s.state != unsubscribed {
		return
	}
	s.state, s.channel = subscribing, channel(e.Name)
	fx.Subscriptions = append(fx.Subscriptions, SubscriptionChange{Entry: e, Channel: s.channel, On: true})
}

// setLinger starts the linger when nobody waits any more, and stops it when somebody does.
func (s *subscription) setLinger(now Time, waiting bool) {
	switch {
	case s.state == unsubscribed:
	case waiting:
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
	s.state, s.ended = unsubscribed, now
}

// confirm notes that the subscription stands, perhaps again: what was published before is lost.
func (s *subscription) confirm() { s.state, s.own = subscribed, 0 }

// ownSubscriptions is how many of the channel's subscribers we are ourselves.
func (s *subscription) ownSubscriptions() int64 {
	if s.state == subscribed || s.state == subscribing {
		return 1
	}
	return 0
}

// ownWhenSent is how many of those that a command counted may have been ourselves.
func (s *subscription) ownWhenSent(sent Time) int64 {
	if s.ended != 0 && sent < s.ended+lingerTime {
		return 1
	}
	return s.ownSubscriptions()
}

// close forgets the subscription: the connection closes with the engine.
func (s *subscription) close() { s.state, s.linger = unsubscribed, Never }

// foreign takes messages; false: they are our own.
func (s *subscription) foreign(news News) bool {
	own := min(news.N, s.own)
	s.own -= own
	return news.N > own
}

const (
	// vainQuestions is how many questions in a row may find nothing changed before messages are heeded less often.
	vainQuestions = 10
	// Then a message leads to a question 1 ms after the last one at the earliest, doubling to 16 ms: a flood on a
	// channel makes each engine ask for a name 60 times a second at most.
	firstHeed   = time.Millisecond
	longestHeed = 16 * time.Millisecond
)

// noteFound notes what a question has found: whether anything had changed since the one before. Another owner of the
// lock is a change, so that a lock over which many compete is asked for as often as it is freed.
func (s *subscription) noteFound(now Time, changed bool) {
	if changed {
		s.vain, s.heedAt = 0, 0
		return
	}
	if s.vain < vainQuestions {
		s.vain++
		return
	}
	if now < s.heedAt {
		return
	}
	pause := min(firstHeed<<(s.vain-vainQuestions), longestHeed)
	if pause < longestHeed {
		s.vain++
	}
	s.heedAt = now + pause
}

// notePublish notes that a command leaves that publishes a message, which will come back to us. It is noted when it leaves:
// the message and the answer come on two connections, and the message may well be first.
func (s *subscription) notePublish() {
	if s.state == subscribed {
		s.own += s.echo
		s.published = true
	}
}

// otherListeners is how many others heard the message of a command that n subscribers heard. sure is false when
// somebody else's message may have been taken for ours.
func (s *subscription) otherListeners(n scripts.Reply) (others int32, sure bool) {
	listeners := int32(max(n, 0))
	if !s.published {
		return listeners, true
	}
	if listeners == 0 { // not even we did: there will be no message
		return 0, s.unpublished()
	}
	s.published = false
	return listeners - 1, true
}

// unpublished is a command that may have published nothing. The message we were going to ignore may be
// somebody else's, so nothing is ignored; our own, should it still come, costs one question too many.
func (s *subscription) unpublished() (sure bool) {
	if !s.published {
		return true
	}
	s.published = false
	s.own -= s.echo
	sure = s.own >= 0
	s.own = max(s.own, 0)
	return sure
}
