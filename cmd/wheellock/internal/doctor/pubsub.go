package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/scripts"
)

// publishScript publishes as the engine does, from a script.
const publishScript = "return redis.call(ARGV[1], ARGV[2], ARGV[3])"

// pubsub listens on one connection and publishes on another, as a waiter and a holder do. A waiter has an inbox beside the lock's channel.
func pubsub(n *node) []Finding {
	publish := n.publish()
	name, served := n.name()
	if !served {
		return fine("this server has no hash slot of names that begin with " + n.prefix)
	}
	inbox := scripts.Inbox(scripts.LockChannel(name), "00000000-0000-8000-8000-000000000000")
	heard, stop, err := n.listen(publish, scripts.LockChannel(name), inbox)
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "NOPERM") && !rediserr.MayNotRun(err):
		advice := n.patterns()
		if n.prefix == "" {
			advice = "grant the channel patterns of SECURITY.md; if this user may use other names than doctor's, say by --prefix with what they begin"
		}
		return found(Warning, "this user may not listen to the channels of a lock: "+err.Error(),
			"Callers that wait are not woken by a release: they ask every Options.PollCap (2 s).", advice)
	case err != nil:
		n.failed("subscribing", err)
		return nil
	}
	defer stop()
	count, err := n.do("EVAL", publishScript, "0", publish, inbox, "0").AsInt64()
	if err != nil {
		n.failed(publish, err)
		return nil
	}
	select {
	case err := <-heard:
		n.failed("listening", err)
	case <-time.After(askTime):
		return found(Error, publish+": the message was not delivered within "+askTime.String(),
			"A waiter of another process learns of an unlock only when it asks again, up to Options.PollCap (2 s) later.",
			"connect to Redis itself, or through a proxy that passes messages on")
	}
	if count == 0 {
		return found(Warning, publish+" answered that nobody listens, and the message was delivered",
			"A release takes the engines in line for dead, and does not give them the lock: each hand-over takes longer, and they lose their places.",
			"connect to the master itself, or through a proxy that lets connections that subscribe go there, too")
	}
	return nil
}

// listen subscribes to channels of one name. heard gets nil for a message, or the error of the connection.
func (n *node) listen(publish string, channels ...string) (heard chan error, stop func(), err error) {
	listener, release := n.client.Dedicate()
	stop = func() {
		listener.Close()
		release()
	}
	heard = make(chan error, 2)
	broken := listener.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(rueidis.PubSubMessage) { heard <- nil }})
	go func() { heard <- errors.Join(errors.New("the connection broke"), <-broken) }()
	subscribe := listener.B().Subscribe().Channel(channels...).Build()
	if publish == "SPUBLISH" {
		subscribe = listener.B().Ssubscribe().Channel(channels...).Build()
	}
	ctx, cancel := context.WithTimeout(n.ctx, askTime)
	defer cancel()
	if err = listener.Do(ctx, subscribe).Error(); err != nil {
		stop()
	}
	return heard, stop, err
}

// mostNames is how many names are tried: a server may have one hash slot of 16,384.
const mostNames = 1 << 18

// name is a name that nobody uses. In a cluster this server serves its hash slot; false: it serves that of no name with the prefix, which
// has braces.
func (n *node) name() (name string, served bool) {
	for range mostNames {
		name := n.prefix + "wheellock-doctor:" + rand.Text()
		slot := scripts.HashSlot(name)
		if !n.isCluster() || slices.ContainsFunc(n.served.Ranges, func(r topology.Range) bool { return r.Addr == n.addr && r.First <= slot && slot <= r.Last }) {
			return name, true
		}
	}
	return "", false
}
