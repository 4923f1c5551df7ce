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

// want subscribes to a channel, unless that was done.
func (l *subscription) want(e *Entry, channel func(string) string, fx *Effects) {
	l.linger = Never
	if l.state != unsubscribed {
		return
	}
	l.state, l.channel = subscribing, channel(e.Name)
	fx.Subscriptions = append(fx.Subscriptions, SubscriptionChange{Entry: e, Channel: l.channel, On: true})
}

// thin starts the linger when nobody waits any more, and stops it when somebody does.
func (l *subscription) thin(now Time, waiting bool) {
	switch {
	case l.state == unsubscribed:
	case waiting:
		l.linger = Never
	case l.linger == Never:
		l.linger = now + lingerTime
	}
}

// expire ends the subscription when its linger is over.
func (l *subscription) expire(now Time, e *Entry, fx *Effects) {
	if now < l.linger {
		return
	}
	l.linger = Never
	if l.state != subscribeDenied && l.state != unsubscribed {
		fx.Subscriptions = append(fx.Subscriptions, SubscriptionChange{Entry: e, Channel: l.channel})
	}
	l.state, l.ended = unsubscribed, now
}

// confirm notes that the subscription stands, perhaps again: what was published before is lost.
func (l *subscription) confirm() { l.state, l.own = subscribed, 0 }

// ownSubscriptions is how many of the channel's subscribers we are ourselves.
func (l *subscription) ownSubscriptions() int64 {
	if l.state == subscribed || l.state == subscribing {
		return 1
	}
	return 0
}

// ownWhenSent is how many of those that a command counted may have been ourselves.
func (l *subscription) ownWhenSent(sent Time) int64 {
	if l.ended != 0 && sent < l.ended+lingerTime {
		return 1
	}
	return l.ownSubscriptions()
}

// close forgets the subscription: the connection closes with the engine.
func (l *subscription) close() { l.state, l.linger = unsubscribed, Never }

// foreign takes messages; false: they are our own.
func (l *subscription) foreign(news News) bool {
	own := min(news.N, l.own)
	l.own -= own
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

// found notes what a question has found: whether anything had changed since the one before. Another owner of the
// lock is a change, so that a lock over which many compete is asked for as often as it is freed.
func (l *subscription) found(now Time, changed bool) {
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
	pause := min(firstHeed<<(l.vain-vainQuestions), longestHeed)
	if pause < longestHeed {
		l.vain++
	}
	l.heedAt = now + pause
}

// publishing notes that a command leaves that publishes a message, which will come back to us. It is noted when it leaves:
// the message and the answer come on two connections, and the message may well be first.
func (l *subscription) publishing() {
	if l.state == subscribed {
		l.own += l.echo
		l.published = true
	}
}

// heardBy is how many others heard the message of a command that n subscribers heard. sure is false when
// somebody else's message may have been taken for ours.
func (l *subscription) heardBy(n scripts.Reply) (others int32, sure bool) {
	heard := int32(max(n, 0))
	if !l.published {
		return heard, true
	}
	if heard == 0 { // not even we did: there will be no message
		return 0, l.unpublished()
	}
	l.published = false
	return heard - 1, true
}

// unpublished is a command that may have published nothing. The message we were going to ignore may be
// somebody else's, so nothing is ignored; our own, should it still come, costs one question too many.
func (l *subscription) unpublished() (sure bool) {
	if !l.published {
		return true
	}
	l.published = false
	l.own -= l.echo
	sure = l.own >= 0
	l.own = max(l.own, 0)
	return sure
}
