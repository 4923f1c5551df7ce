package dispatcher

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
)

// ear hears unlock messages. It is one goroutine with a connection of its own, made when the first channel
// is wanted: messages must not share a connection with commands, whose answers a flood of them would delay.
// After every reconnect it listens to everything again and says so, because what was published meanwhile
// is lost; the gates then ask again.
type ear struct {
	client  rueidis.Client
	plain   bool // SUBSCRIBE
	sharded bool // SSUBSCRIBE; the two name spaces are separate in Redis
	mail    *mailbox
	logger  *slog.Logger
	wake    chan struct{}
	stop    context.CancelFunc
	stopped chan struct{}

	mu    sync.Mutex // guards wants
	wants []want

	// Owned by run.
	channels map[string]struct{}
}

type want struct {
	channel string
	on      bool
}

// maxChannels is how many channels one SUBSCRIBE names.
const maxChannels = 500

func newEar(client rueidis.Client, publish string, mail *mailbox, logger *slog.Logger) *ear {
	ctx, stop := context.WithCancel(context.Background())
	e := &ear{
		client: client, mail: mail, logger: logger, stop: stop,
		plain: publish != "SPUBLISH", sharded: publish != "PUBLISH",
		wake: make(chan struct{}, 1), stopped: make(chan struct{}), channels: make(map[string]struct{}),
	}
	go e.run(ctx)
	return e
}

// want asks to listen to a channel, or not to. It does not block.
func (e *ear) want(channel string, on bool) {
	e.mu.Lock()
	e.wants = append(e.wants, want{channel, on})
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *ear) take() []want {
	e.mu.Lock()
	defer e.mu.Unlock()
	wants := e.wants
	e.wants = nil
	return wants
}

func (e *ear) close() {
	e.stop()
	<-e.stopped
}

// run keeps a connection while there is anything to hear.
func (e *ear) run(ctx context.Context) {
	defer close(e.stopped)
	for tries := 0; ctx.Err() == nil; {
		if len(e.channels) == 0 {
			select {
			case <-ctx.Done():
				return
			case <-e.wake:
				e.note(e.take())
				continue
			}
		}
		if err := e.listen(ctx, &tries); err != nil && ctx.Err() == nil {
			e.logger.Warn("wheellock: the connection for unlock messages broke", "error", err)
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
func (e *ear) note(wants []want) {
	for _, w := range wants {
		if w.on {
			e.channels[w.channel] = struct{}{}
		} else {
			delete(e.channels, w.channel)
		}
	}
}

// listen makes a connection, listens to every channel, and follows the wishes until the connection breaks.
func (e *ear) listen(ctx context.Context, tries *int) error {
	conn, release := e.client.Dedicate()
	defer release()
	defer conn.Close()
	broke := conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) {
		n, err := strconv.ParseInt(m.Message, 10, 64)
		if err != nil { // not Redisson's; news all the same
			n = 1
		}
		e.mail.put(letter{kind: message, text: m.Channel, n: n})
	}})
	stop := context.AfterFunc(ctx, conn.Close) // cuts a stuck call
	defer stop()
	all := make([]string, 0, len(e.channels))
	for channel := range e.channels {
		all = append(all, channel)
	}
	if err := e.subscribe(conn, all); err != nil {
		return err
	}
	*tries = 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-broke:
			return err
		case <-e.wake:
			if err := e.follow(conn, e.take()); err != nil {
				return err
			}
		}
	}
}

// follow subscribes and unsubscribes. A channel that was given up and is wanted again is only subscribed,
// one that was wanted and given up at once is left alone.
func (e *ear) follow(conn rueidis.DedicatedClient, wants []want) error {
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
	for len(off) > 0 {
		n := e.portion(len(off))
		if err := e.tell(conn, off[:n], unsubscribe, sunsubscribe); err != nil {
			return err
		}
		off = off[n:]
	}
	return nil
}

// portion is how many of n channels one command names: a sharded one names one, for each has its hash slot.
func (e *ear) portion(n int) int {
	if e.sharded {
		return 1
	}
	return min(n, maxChannels)
}

// tell runs a command about channels in the name spaces in use. Its answer proves that it has taken effect.
func (e *ear) tell(conn rueidis.DedicatedClient, channels []string, plain, sharded command) error {
	if e.plain {
		if err := conn.Do(context.Background(), plain(conn.B(), channels)).Error(); err != nil {
			return err
		}
	}
	if e.sharded {
		return conn.Do(context.Background(), sharded(conn.B(), channels)).Error()
	}
	return nil
}

type command func(rueidis.Builder, []string) rueidis.Completed

func subscribe(b rueidis.Builder, channels []string) rueidis.Completed {
	return b.Subscribe().Channel(channels...).Build()
}

func ssubscribe(b rueidis.Builder, channels []string) rueidis.Completed {
	return b.Ssubscribe().Channel(channels...).Build()
}

func unsubscribe(b rueidis.Builder, channels []string) rueidis.Completed {
	return b.Unsubscribe().Channel(channels...).Build()
}

func sunsubscribe(b rueidis.Builder, channels []string) rueidis.Completed {
	return b.Sunsubscribe().Channel(channels...).Build()
}

// subscribe listens to channels and reports them. Those that the server refuses are reported with its words.
func (e *ear) subscribe(conn rueidis.DedicatedClient, channels []string) error {
	for len(channels) > 0 {
		n := e.portion(len(channels))
		some := channels[:n]
		channels = channels[n:]
		err := e.tell(conn, some, subscribe, ssubscribe)
		refused := err != nil && judge(err).result == gate.Denied // anything else passes, or broke the connection
		if refused && n > 1 {                                     // one of many is at fault
			for i := range some {
				if err := e.subscribe(conn, some[i:i+1]); err != nil {
					return err
				}
			}
			continue
		}
		words := ""
		if refused {
			words, _ = Said(err)
			delete(e.channels, some[0])
			e.logger.Warn("wheellock: may not listen for unlock messages", "channel", some[0], "error", words)
		} else if err != nil {
			return err
		}
		e.mail.put(letter{kind: subscribed, ref: some, text: words})
	}
	return nil
}
