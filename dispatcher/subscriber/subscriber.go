// Package subscriber receives unlock messages.
//
// A Subscriber is one goroutine with a connection of its own, which it makes when the first channel is wanted. Messages do not share
// a connection with commands, because a flood of messages would delay the answers. Channels are subscribed to in bulk, and the
// messages of each channel are summed up until the loop takes them.
//
// Loss: messages are hints. After every reconnect the Subscriber subscribes to everything again and says so to its Owner, because
// messages in between are lost; the machines then ask again.
package subscriber

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/reconnect"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/topology"
)

// Config is what a Subscriber needs.
type Config struct {
	Client  rueidis.Client
	Engine  string // its UUID
	Plain   bool   // SUBSCRIBE
	Sharded bool   // SSUBSCRIBE; the two name spaces are separate in Redis
	Cluster bool   // the node may come to serve a channel no more
	Logger  *slog.Logger
	Where   func(besides ...any) []any // arguments of a log record: which server it is about, and these
	Owner   Owner
}

// Owner is told what happens on the connection, by a goroutine of the subscriber or of its client. Its methods must not
// block.
type Owner interface {
	// Received says that there is something for Take to take.
	Received()
	// Subscribed says that channels are heard now.
	Subscribed(channels []string)
	// Refused says that this user may not listen to a channel. message is the server's. The channel is given up.
	Refused(channel, message string)
	// Redirected says that the node does not serve a channel of a cluster. message is the server's, or empty if the node has
	// ended the subscription by itself. The channel is not heard any more.
	Redirected(channel, message string)
	// Broke says that the connection to a cluster's node broke. A waiter sends nothing, so nothing else may show that the
	// node is gone.
	Broke()
}

// Subscriber listens to the channels of one server.
type Subscriber struct {
	cfg     Config
	wake    chan struct{}
	moved   chan struct{} // the server listened to is not the master any more
	stop    context.CancelFunc
	stopped chan struct{} // closed by run, as its last act

	mu    sync.Mutex // guards wants; held for an append or a swap
	wants []want

	news news // any goroutine

	// Owned by run.
	channels map[string]struct{}
	lasted   time.Duration    // how long the last connection had subscriptions; 0: it never had
	outage   reconnect.Outage // of the connection
	refusals reconnect.Outage // of channels that this user may not listen to: these do not end
}

type want struct {
	channel string
	on      bool
}

// New starts a subscriber. It connects when the first channel is wanted.
func New(cfg Config) *Subscriber {
	ctx, stop := context.WithCancel(context.Background())
	s := &Subscriber{
		cfg: cfg, stop: stop, wake: make(chan struct{}, 1), moved: make(chan struct{}, 1), stopped: make(chan struct{}),
		channels: make(map[string]struct{}), news: newNews(),
	}
	go s.run(ctx)
	return s
}

// Want asks to listen to a channel, or not to. It does not block.
func (s *Subscriber) Want(channel string, on bool) {
	s.mu.Lock()
	s.wants = append(s.wants, want{channel, on})
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Move has the subscriber listen to the present master. It does not block.
func (s *Subscriber) Move() {
	select {
	case s.moved <- struct{}{}:
	default:
	}
}

func (s *Subscriber) take() []want {
	s.mu.Lock()
	defer s.mu.Unlock()
	wants := s.wants
	s.wants = nil
	return wants
}

// Close ends the subscriber and waits for its goroutine.
func (s *Subscriber) Close() {
	s.stop()
	<-s.stopped
}

// run keeps a connection while there is anything to hear.
func (s *Subscriber) run(ctx context.Context) {
	defer close(s.stopped)
	for tries := 0; ctx.Err() == nil; {
		s.note(s.take())
		if len(s.channels) == 0 {
			select {
			case <-ctx.Done():
				return
			case <-s.wake:
				continue
			}
		}
		if err := s.listen(ctx); err != nil && ctx.Err() == nil {
			what := "wheellock: the connection for unlock messages broke"
			if s.lasted == 0 {
				what = "wheellock: unlock messages cannot be heard"
			}
			err = rediserr.Silent(err, topology.ServerOf(s.cfg.Client), 0)
			s.outage.Failed(s.cfg.Logger, what, s.cfg.Where("error", rediserr.Text(err))...)
			if s.cfg.Cluster && !rediserr.NotLoggedIn(err) { // then the node is there, and connections that have logged in are good
				s.cfg.Owner.Broke()
			}
			tries = reconnect.Tries(tries, s.lasted)
			pause(ctx, reconnect.Pause(tries))
			tries++
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// note takes wants into account while there is no connection.
func (s *Subscriber) note(wants []want) {
	for _, w := range wants {
		if w.on {
			s.channels[w.channel] = struct{}{}
		} else {
			delete(s.channels, w.channel)
		}
	}
}

// listen makes a connection, listens to every channel, and follows the wants until the connection breaks.
func (s *Subscriber) listen(ctx context.Context) error {
	s.lasted = 0
	conn, release := s.cfg.Client.Dedicate()
	defer release()
	defer conn.Close()
	broke := conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: s.received, OnSubscription: s.ended})
	stop := context.AfterFunc(ctx, conn.Close) // cuts a stuck call
	defer stop()
	all := make([]string, 0, len(s.channels))
	for channel := range s.channels {
		all = append(all, channel)
	}
	if err := s.subscribe(conn, all); err != nil {
		return err
	}
	since := time.Now()
	defer func() { s.lasted = max(time.Since(since), 1) }()
	s.outage.Ended(s.cfg.Logger, "wheellock: unlock messages are heard again", s.cfg.Where()...)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-broke:
			return err
		case <-s.moved:
			return topology.ErrSwitched
		case <-s.wake:
			if err := s.follow(conn, s.take()); err != nil {
				return err
			}
		}
	}
}

// ended hears of the end of a subscription to a sharded channel. A node ends one by itself when it no longer serves the hash
// slot, and the connection stays. It says the same when we have asked for the end; then the loop knows no such channel.
func (s *Subscriber) ended(end rueidis.PubSubSubscription) {
	if s.cfg.Cluster && end.Kind == "sunsubscribe" {
		s.cfg.Owner.Redirected(end.Channel, "")
	}
}

// follow subscribes and unsubscribes. A channel that was given up and is wanted again is only subscribed,
// one that was wanted and given up at once is left alone.
func (s *Subscriber) follow(conn rueidis.DedicatedClient, wants []want) error {
	last := make(map[string]bool, len(wants))
	for _, w := range wants {
		last[w.channel] = w.on
	}
	var on, off []string
	for channel, wanted := range last {
		if wanted {
			on = append(on, channel)
			s.channels[channel] = struct{}{}
		} else {
			off = append(off, channel)
			delete(s.channels, channel)
		}
	}
	if err := s.subscribe(conn, on); err != nil {
		return err
	}
	return s.unsubscribe(conn, off)
}
