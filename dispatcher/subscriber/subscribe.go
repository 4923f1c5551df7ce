package subscriber

import (
	"context"
	"slices"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/wheel/stall"
)

// maxChannels is how many channels one SUBSCRIBE names, and how many SSUBSCRIBE go in one pipeline.
const maxChannels = 500

// subscribe listens to channels and reports them. Those that the server refuses are reported with its message.
func (s *Subscriber) subscribe(conn rueidis.DedicatedClient, channels []string) error {
	for some := range slices.Chunk(channels, maxChannels) {
		if s.cfg.Plain {
			refused, err := s.subscribePlain(conn, some)
			if err != nil {
				return err
			}
			some = slices.DeleteFunc(some, func(c string) bool { return slices.Contains(refused, c) })
		}
		if !s.cfg.Sharded {
			s.report(some)
		} else if err := s.subscribeSharded(conn, some); err != nil {
			return err
		}
	}
	return nil
}

// subscribePlain listens to plain channels, with one command for all. It reports and returns those that the server
// refuses.
func (s *Subscriber) subscribePlain(conn rueidis.DedicatedClient, channels []string) (refused []string, err error) {
	err = conn.Do(context.Background(), conn.B().Subscribe().Channel(channels...).Build()).Error()
	if err == nil || !denied(err) { // anything else passes, or broke the connection
		return nil, err
	}
	if len(channels) == 1 {
		s.refuse(channels[0], err)
		return channels, nil
	}
	for i := range channels { // one of many is at fault
		one, err := s.subscribePlain(conn, channels[i:i+1:i+1])
		if err != nil {
			return nil, err
		}
		refused = append(refused, one...)
	}
	return refused, nil
}

// denied reports whether this user may not listen to a channel.
func denied(err error) bool {
	return rediserr.Judge(err).Result == gate.Denied && !rediserr.NotLoggedIn(err)
}

// subscribeSharded listens to sharded channels, with a command for each, because each has its hash slot. The loop looks for
// the nodes of channels that this node does not serve.
func (s *Subscriber) subscribeSharded(conn rueidis.DedicatedClient, channels []string) error {
	confirmed := channels[:0]
	for i, r := range each(conn, channels, ssubscribe) {
		err, channel := r.Error(), channels[i]
		message, _ := rediserr.Said(err)
		switch {
		case err == nil:
			confirmed = append(confirmed, channel)
		case denied(err) && !(s.cfg.Cluster && topology.IsRedirect(message)):
			s.refuse(channel, err)
		case s.cfg.Cluster && message != "" && !rediserr.NotLoggedIn(err):
			delete(s.channels, channel)
			s.cfg.Owner.Redirected(channel, message)
		default:
			return err
		}
	}
	s.report(confirmed)
	return nil
}

// unsubscribe stops listening. The server's messages do not matter: in a cluster it may have ended the subscription itself.
func (s *Subscriber) unsubscribe(conn rueidis.DedicatedClient, channels []string) error {
	for some := range slices.Chunk(channels, maxChannels) {
		if s.cfg.Plain {
			if err := broken(conn.Do(context.Background(), conn.B().Unsubscribe().Channel(some...).Build()).Error()); err != nil {
				return err
			}
		}
		if s.cfg.Sharded {
			for _, r := range each(conn, some, sunsubscribe) {
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
	if _, said := rediserr.Said(err); said {
		return nil
	}
	return err
}

// each sends a command for each channel, as one pipeline. An answer proves that it has taken effect.
func each(conn rueidis.DedicatedClient, channels []string, build func(rueidis.Builder, string) rueidis.Completed) []rueidis.RedisResult {
	commands := make(rueidis.Commands, len(channels))
	for i := range channels {
		commands[i] = build(conn.B(), channels[i])
	}
	return conn.DoMulti(context.Background(), commands...)
}

// refuse reports a channel that this user may not listen to.
func (s *Subscriber) refuse(channel string, err error) {
	message, _ := rediserr.Said(err)
	delete(s.channels, channel)
	s.refusals.Failed(s.cfg.Logger, "wheellock: may not listen for unlock messages", s.cfg.Where("channel", channel, "error", message)...)
	stall.At("subscriber: subscribed, loop not told", s.cfg.Engine)
	s.cfg.Owner.Refused(channel, message)
}

// report says that channels are heard.
func (s *Subscriber) report(channels []string) {
	if len(channels) == 0 {
		return
	}
	stall.At("subscriber: subscribed, loop not told", s.cfg.Engine)
	s.cfg.Owner.Subscribed(channels)
}

func ssubscribe(b rueidis.Builder, channel string) rueidis.Completed {
	return b.Ssubscribe().Channel(channel).Build()
}

func sunsubscribe(b rueidis.Builder, channel string) rueidis.Completed {
	return b.Sunsubscribe().Channel(channel).Build()
}
