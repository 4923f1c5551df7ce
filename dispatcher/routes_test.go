package dispatcher

import (
	"log/slog"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/subscriber"
	"github.com/wheellock/wheellock/internal/redistest"
)

// A user without rights to the channels of its names would otherwise leave an entry behind for each of them.
func TestRefusedChannelIsForgotten(t *testing.T) {
	e := gate.NewEntry("stock:7", gate.MutexKind, &gate.Config{Stats: &gate.Stats{}})
	l := newLoop(Config{Gate: &gate.Config{Stats: &gate.Stats{}}})
	n := &node{}
	for _, channel := range []string{"a", "b"} {
		l.routes.byChannel[channel] = route{entries: []*gate.Entry{e}, node: n}
	}
	(&refused{n, "a", "NOPERM this user has no permissions to access one of the channels"}).deliver(l, 0)
	if !e.Stepped {
		t.Error("the machine that wanted the channel is not told that it is refused")
	}
	(&subscribed{n, []string{"b"}}).deliver(l, 0)
	if l.routes.byChannel["a"].entries != nil || l.routes.byChannel["b"].entries == nil {
		t.Errorf("still heard are %v, want b alone", l.routes.byChannel)
	}
}

// confirmations are the channels that a subscriber says are heard.
type confirmations chan string

func (c confirmations) Received()                 {}
func (c confirmations) Refused(_, _ string)       {}
func (c confirmations) Redirected(_, _ string)    {}
func (c confirmations) Broke()                    {}
func (c confirmations) Subscribed(heard []string) { c <- heard[0] }

func (c confirmations) want(t *testing.T, channel string) {
	t.Helper()
	select {
	case got := <-c:
		if got != channel {
			t.Fatalf("%s is heard, want %s", got, channel)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("nobody says that %s is heard", channel)
	}
}

// listeningTo is a subscriber to a server of its own.
func listeningTo(t *testing.T, c confirmations) *subscriber.Subscriber {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redistest.Start(t).Addr()}, DisableCache: true, DisableRetry: true})
	if err != nil {
		t.Fatal(err)
	}
	s := subscriber.New(subscriber.Config{Client: client, Plain: true, Logger: slog.New(slog.DiscardHandler), Where: (&node{addr: "a:1"}).where, Owner: c})
	t.Cleanup(func() {
		s.Close()
		client.Close()
	})
	return s
}

// Whoever wants to listen waits until the channel is confirmed after that: what was published before is lost to it.
//
//  1. "a" and "{a}" share a channel, and "a" listens.
//  2. "{a}" finds its lock taken, and wants to listen. The lock is freed before it counts as listening.
//  3. Were the channel not confirmed anew, "{a}" would sleep beside a free lock.
//
// invariant: one-command-per-name
func TestAChannelIsConfirmedForEachWhoJoins(t *testing.T) {
	c := make(confirmations, 10)
	n := &node{subscriber: listeningTo(t, c)}
	l := newLoop(Config{Gate: &gate.Config{Stats: &gate.Stats{}}})
	l.nodes.all = []*node{n}
	for _, name := range []string{"a", "{a}"} {
		l.routes.subscribe("channel", gate.NewEntry(name, gate.MutexKind, l.cfg.Gate))
		c.want(t, "channel")
	}
	if !l.routes.leadTo(n) || l.routes.leadTo(&node{}) {
		t.Error("the channel is not listened to at this node alone")
	}
}

// A node of a cluster gets its subscriber when it is reached first. Then it listens to what was wanted before.
func TestANodeListensToWhatWasWantedBefore(t *testing.T) {
	c := make(confirmations, 10)
	n := &node{}
	l := newLoop(Config{Gate: &gate.Config{Stats: &gate.Stats{}}})
	l.nodes.all = []*node{n}
	l.routes.subscribe("channel", gate.NewEntry("a", gate.MutexKind, l.cfg.Gate))
	n.subscriber = listeningTo(t, c)
	l.routes.subscribeAt(n)
	c.want(t, "channel")
}

// Each time that a channel is heard again whoever waits asks again, wherever the channel is heard.
// invariant: one-command-per-name
func TestAChannelThatIsHeardAgainHasWaitersAskAgain(t *testing.T) {
	cfg := &gate.Config{LeaseTime: 30 * time.Second, PollCap: time.Minute, Stats: &gate.Stats{}, Codes: noCodes{}}
	l := newLoop(Config{Gate: cfg})
	n := &node{}
	l.nodes.all = []*node{n}
	caller := &leaver{gate.Waiter{LeaseTime: 30 * time.Second, Watch: true, Write: true}}
	caller.waiter.By, caller.waiter.Hold = caller, &gate.Hold{}
	(&ask{&caller.waiter, "stock:7", gate.RWKind, 1}).deliver(l, 0)
	l.nodes.gates = &l.gates
	for again := range 3 {
		op := gate.AcquireWrite
		if again > 0 {
			op = gate.AcquireWriteInLine
		}
		asked := l.gates.fx.Commands[op]
		if len(asked) != 1 {
			t.Fatalf("heard %d times: %d questions, want 1", again, len(asked))
		}
		question := asked[0]
		l.gates.fx.Commands[op] = nil
		question.Result, question.Reply = gate.Answered, -10_002
		l.gates.answer(0, &question)
		l.routes.applySubscriptions()
		for channel, r := range l.routes.byChannel {
			r.hops = uint8(again) // it was sent on meanwhile
			l.routes.byChannel[channel] = r
			(&subscribed{n, []string{channel}}).deliver(l, 0)
			if r := l.routes.byChannel[channel]; r.hops != 0 {
				t.Errorf("a channel that is heard was sent on %d times, want 0", r.hops)
			}
		}
	}
}

// noCodes are the codes of an engine that is given no lock.
type noCodes struct{}

func (noCodes) Code(uint64) int64   { return 2 }
func (noCodes) Number(int64) uint64 { return 0 }

// A channel is listened to as long as any name wants it.
func TestAChannelIsGivenUpByTheLastName(t *testing.T) {
	l := newLoop(Config{Gate: &gate.Config{Stats: &gate.Stats{}}})
	l.nodes.all = []*node{{}}
	a, b := gate.NewEntry("a", gate.MutexKind, l.cfg.Gate), gate.NewEntry("{a}", gate.MutexKind, l.cfg.Gate)
	want := func(e *gate.Entry, on bool) int {
		l.gates.fx.Subscriptions = append(l.gates.fx.Subscriptions, gate.SubscriptionChange{Entry: e, Channel: "channel", On: on})
		l.routes.applySubscriptions()
		if left := len(l.gates.fx.Subscriptions); left != 0 {
			t.Errorf("%d are carried out again", left)
		}
		return len(l.routes.byChannel["channel"].entries)
	}
	if want(a, true) != 1 || want(b, true) != 2 || want(a, false) != 1 || want(b, false) != 0 || len(l.routes.byChannel) != 0 {
		t.Errorf("routes: %v", l.routes.byChannel)
	}
}
