package dispatcher

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/internal/stall"
)

// subscriber hears unlock messages. It is one goroutine with a connection of its own, made when the first channel
// is wanted: messages must not share a connection with commands, whose answers a flood of them would delay.
// After every reconnect it listens to everything again and says so, because what was published meanwhile
// is lost; the gates then ask again.
type subscriber struct {
	node    int64 // whose
	engine  string
	where   func(besides ...any) []any
	client  rueidis.Client
	plain   bool // SUBSCRIBE
	sharded bool // SSUBSCRIBE; the two name spaces are separate in Redis
	strays  bool // in a cluster: its node may come to serve a channel no more
	mail    *mailbox
	logger  *slog.Logger
	wake    chan struct{}
	moved   chan struct{} // the server listened to is not the master any more
	stop    context.CancelFunc
	stopped chan struct{}

	mu         sync.Mutex // guards the rest
	wants      []want
	news, read map[string]gate.News // by channel: what was heard since the loop looked; an empty one to go on with

	// Owned by run.
	channels map[string]struct{}
	heardFor time.Duration // how long the last connection was listened to; 0: not at all
	outage   outage        // of the connection
	refusals outage        // of channels that this user may not listen to: they do not end
}

type want struct {
	channel string
	on      bool
}

func newSubscriber(n *node) *subscriber {
	ctx, stop := context.WithCancel(context.Background())
	cfg := &n.d.cfg
	e := &subscriber{
		node: n.id, engine: cfg.UUID, where: n.where, client: n.client, mail: n.d.mail, logger: cfg.Logger, stop: stop,
		plain: cfg.Publish != "SPUBLISH", sharded: cfg.Publish != "PUBLISH", strays: n.d.cluster != nil,
		wake: make(chan struct{}, 1), moved: make(chan struct{}, 1), stopped: make(chan struct{}), channels: make(map[string]struct{}),
		news: make(map[string]gate.News), read: make(map[string]gate.News),
	}
	go e.run(ctx)
	return e
}

// want asks to listen to a channel, or not to. It does not block.
func (e *subscriber) want(channel string, on bool) {
	e.mu.Lock()
	e.wants = append(e.wants, want{channel, on})
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// move has the subscriber listen to the master of now. It does not block.
func (e *subscriber) move() {
	select {
	case e.moved <- struct{}{}:
	default:
	}
}

func (e *subscriber) take() []want {
	e.mu.Lock()
	defer e.mu.Unlock()
	wants := e.wants
	e.wants = nil
	return wants
}

func (e *subscriber) close() {
	e.stop()
	<-e.stopped
}

// run keeps a connection while there is anything to hear.
func (e *subscriber) run(ctx context.Context) {
	defer close(e.stopped)
	for tries := 0; ctx.Err() == nil; {
		e.note(e.take())
		if len(e.channels) == 0 {
			select {
			case <-ctx.Done():
				return
			case <-e.wake:
				continue
			}
		}
		if err := e.listen(ctx); err != nil && ctx.Err() == nil {
			e.outage.failure(e.logger, "wheellock: the connection for unlock messages broke", e.where("error", err)...)
			if e.strays {
				e.mail.put(event{kind: subscriberBroke})
			}
			switch { // what heard nothing yet may be a server that is not there
			case e.heardFor >= steady:
				tries = 0
			case e.heardFor > 0:
				tries = min(tries, flaps)
			}
			pause(ctx, pauseBefore(tries))
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

// note takes wishes into account while there is no connection.
func (e *subscriber) note(wants []want) {
	for _, w := range wants {
		if w.on {
			e.channels[w.channel] = struct{}{}
		} else {
			delete(e.channels, w.channel)
		}
	}
}

// listen makes a connection, listens to every channel, and follows the wishes until the connection breaks.
func (e *subscriber) listen(ctx context.Context) error {
	e.heardFor = 0
	conn, release := e.client.Dedicate()
	defer release()
	defer conn.Close()
	broke := conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: e.message, OnSubscription: e.ended})
	stop := context.AfterFunc(ctx, conn.Close) // cuts a stuck call
	defer stop()
	all := make([]string, 0, len(e.channels))
	for channel := range e.channels {
		all = append(all, channel)
	}
	if err := e.subscribe(conn, all); err != nil {
		return err
	}
	since := time.Now()
	defer func() { e.heardFor = max(time.Since(since), 1) }()
	e.outage.over(e.logger, "wheellock: unlock messages are heard again", e.where()...)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-broke:
			return err
		case <-e.moved:
			return errSwitched
		case <-e.wake:
			if err := e.follow(conn, e.take()); err != nil {
				return err
			}
		}
	}
}

// message is what somebody published. The loop is told once that there is something to hear, however much comes until it
// looks: so what a flood of messages takes is bounded by the channels that are listened to.
func (e *subscriber) message(m rueidis.PubSubMessage) {
	said, err := strconv.ParseInt(m.Message, 10, 64)
	if err != nil { // not Redisson's; news all the same
		said = 1
	}
	e.mu.Lock()
	first := len(e.news) == 0
	news, before := e.news[m.Channel]
	if !before || said > news.Most {
		news.Most = said
	}
	if news.N < math.MaxInt32 {
		news.N++
	}
	e.news[m.Channel] = news
	e.mu.Unlock()
	if first {
		stall.At("subscriber: message heard, loop not told", e.engine)
		e.mail.put(event{kind: message, ref: e})
	}
}

// hear takes what was heard. It is valid until the next call.
func (e *subscriber) hear() map[string]gate.News {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.read) > maxRoom {
		e.read = make(map[string]gate.News)
	}
	clear(e.read)
	e.news, e.read = e.read, e.news
	return e.read
}

// ended is the end of a subscription to a sharded channel: a node says so by itself when it serves the hash slot no
// more, and the connection stays. It says the same when we have asked for it; the loop then knows of no such channel.
func (e *subscriber) ended(s rueidis.PubSubSubscription) {
	if e.strays && s.Kind == "sunsubscribe" {
		e.redirected(s.Channel, "")
	}
}

// redirected reports a channel that is not heard, although nobody refused it.
func (e *subscriber) redirected(channel, words string) {
	e.mail.put(event{kind: channelRedirected, text: channel, ref: words, n: e.node})
}

// follow subscribes and unsubscribes. A channel that was given up and is wanted again is only subscribed,
// one that was wanted and given up at once is left alone.
func (e *subscriber) follow(conn rueidis.DedicatedClient, wants []want) error {
	last := make(map[string]bool, len(wants))
	for _, w := range wants {
		last[w.channel] = w.on
	}
	var on, off []string
	for channel, wanted := range last {
		if wanted {
			on = append(on, channel)
			e.channels[channel] = struct{}{}
		} else {
			off = append(off, channel)
			delete(e.channels, channel)
		}
	}
	if err := e.subscribe(conn, on); err != nil {
		return err
	}
	return e.unsubscribe(conn, off)
}
