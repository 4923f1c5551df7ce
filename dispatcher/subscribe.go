package dispatcher

import (
	"context"
	"slices"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/internal/stall"
)

// maxChannels is how many channels one SUBSCRIBE names, and how many SSUBSCRIBE go in one pipeline.
const maxChannels = 500

// subscribe listens to channels and reports them. Those that the server refuses are reported with its words.
func (e *subscriber) subscribe(conn rueidis.DedicatedClient, channels []string) error {
	for some := range slices.Chunk(channels, maxChannels) {
		if e.plain {
			refused, err := e.subscribePlain(conn, some)
			if err != nil {
				return err
			}
			if some = slices.DeleteFunc(some, func(c string) bool { return slices.Contains(refused, c) }); len(some) == 0 {
				continue
			}
		}
		if !e.sharded {
			e.report(some, "")
		} else if err := e.subscribeSharded(conn, some); err != nil {
			return err
		}
	}
	return nil
}

// subscribePlain listens to plain channels, with one command for all. Those that the server refuses are reported and
// returned.
func (e *subscriber) subscribePlain(conn rueidis.DedicatedClient, channels []string) (refused []string, err error) {
	err = conn.Do(context.Background(), subscribe(conn.B(), channels)).Error()
	if err == nil || judge(err).result != gate.Denied { // anything else passes, or broke the connection
		return nil, err
	}
	if len(channels) == 1 {
		e.refuse(channels[0], err)
		return channels, nil
	}
	for i := range channels { // one of many is at fault
		one, err := e.subscribePlain(conn, channels[i:i+1:i+1])
		if err != nil {
			return nil, err
		}
		refused = append(refused, one...)
	}
	return refused, nil
}

// subscribeSharded listens to sharded channels, with a command for each, for each has its hash slot. What its node
// does not serve is for the loop to look for.
func (e *subscriber) subscribeSharded(conn rueidis.DedicatedClient, channels []string) error {
	heard := channels[:0]
	for i, r := range e.each(conn, channels, ssubscribe) {
		err, channel := r.Error(), channels[i]
		words, _ := Said(err)
		switch {
		case err == nil:
			heard = append(heard, channel)
		case judge(err).result == gate.Denied && !(e.strays && redirects(words)):
			e.refuse(channel, err)
		case e.strays && words != "":
			delete(e.channels, channel)
			e.redirected(channel, words)
		default:
			return err
		}
	}
	e.report(heard, "")
	return nil
}

// unsubscribe listens no more. The server's words do not matter: in a cluster it may have ended the subscription itself.
func (e *subscriber) unsubscribe(conn rueidis.DedicatedClient, channels []string) error {
	for some := range slices.Chunk(channels, maxChannels) {
		if e.plain {
			if err := broken(conn.Do(context.Background(), unsubscribe(conn.B(), some)).Error()); err != nil {
				return err
			}
		}
		if e.sharded {
			for _, r := range e.each(conn, some, sunsubscribe) {
				if err := broken(r.Error()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// broken is err, unless it is something the server said.
func broken(err error) error {
	if _, said := Said(err); said {
		return nil
	}
	return err
}

// each sends a command for each channel, as one pipeline. An answer proves that it has taken effect.
func (e *subscriber) each(conn rueidis.DedicatedClient, channels []string, build command) []rueidis.RedisResult {
	commands := make(rueidis.Commands, len(channels))
	for i := range channels {
		commands[i] = build(conn.B(), channels[i:i+1])
	}
	return conn.DoMulti(context.Background(), commands...)
}

// refuse reports a channel that this user may not listen to.
func (e *subscriber) refuse(channel string, err error) {
	words, _ := Said(err)
	delete(e.channels, channel)
	e.refusals.failure(e.logger, "wheellock: may not listen for unlock messages", "channel", channel, "error", words)
	e.report([]string{channel}, words)
}

// report says that channels are heard, or in the server's words why not.
func (e *subscriber) report(channels []string, words string) {
	if len(channels) == 0 {
		return
	}
	stall.At("subscriber: subscribed, loop not told", e.engine)
	e.mail.put(event{kind: subscribed, ref: channels, text: words, n: e.node})
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
