package subscriber

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/redistest"
)

// owner writes down what it is told.
type owner struct{ told chan string }

func (o *owner) Received() { o.told <- "heard" }
func (o *owner) Subscribed(channels []string) {
	channels = slices.Sorted(slices.Values(channels))
	o.told <- "subscribed " + strings.Join(channels, " ")
}
func (o *owner) Refused(channel, message string) {
	o.told <- fmt.Sprintf("refused %s %v", channel, strings.HasPrefix(message, "NOPERM"))
}
func (o *owner) Redirected(channel, _ string) { o.told <- "redirected " + channel }
func (o *owner) Broke()                       { o.told <- "broke" }

// want waits for what the owner is told next.
func (o *owner) want(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-o.told:
		if got != want {
			t.Fatalf("told %q, want %q", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("not told %q", want)
	}
}

func open(t *testing.T, option rueidis.ClientOption, cfg Config) (*Subscriber, *owner) {
	option.DisableCache, option.DisableRetry = true, true
	client, err := rueidis.NewClient(option)
	if err != nil {
		t.Fatal(err)
	}
	o := &owner{told: make(chan string, 100)}
	cfg.Client, cfg.Owner, cfg.Logger = client, o, cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.Where = func(besides ...any) []any { return besides }
	s := New(cfg)
	t.Cleanup(func() {
		s.Close()
		client.Close()
	})
	return s, o
}

// listening starts a server, and a subscriber that hears these channels, asked for one after the other.
func listening(t *testing.T, channels ...string) (*redistest.Server, *Subscriber, *owner) {
	server := redistest.Start(t)
	s, o := open(t, rueidis.ClientOption{InitAddress: []string{server.Addr()}}, Config{Plain: true})
	for _, c := range channels {
		s.Want(c, true)
		o.want(t, "subscribed "+c)
	}
	return server, s, o
}

func TestSubscriber(t *testing.T) {
	t.Run("hears what is published on the channels it wants", func(t *testing.T) {
		server, s, o := listening(t, "a", "b")
		server.MustDo("PUBLISH", "a", "0")
		o.want(t, "heard")
		if news := s.Take(); news["a"].N != 1 || len(news) != 1 {
			t.Errorf("heard %v, want one message on a", news)
		}
		s.Want("a", false)
		s.Want("b", false)
		s.Want("c", true)
		o.want(t, "subscribed c") // b and a are given up behind it
		redistest.Await(t, "nobody listens to a", func() bool { return server.MustDo("PUBLISH", "a", "0").String() == "0" })
	})
	t.Run("listens to everything again when its connection breaks, and says so", func(t *testing.T) {
		server, _, o := listening(t, "a", "b")
		server.MustDo("CLIENT", "KILL", "TYPE", "PUBSUB")
		o.want(t, "subscribed a b")
		server.MustDo("PUBLISH", "b", "0")
		o.want(t, "heard")
	})
	t.Run("confirms a channel anew that is wanted again", func(t *testing.T) {
		_, s, o := listening(t, "a", "b")
		s.Want("a", true) // by another entry, or once more by the same
		o.want(t, "subscribed a")
		s.Want("b", false)
		s.Want("b", true)
		o.want(t, "subscribed b")
	})
	t.Run("listens anew when it is told that the master has moved", func(t *testing.T) {
		_, s, o := listening(t, "a")
		s.Move()
		o.want(t, "subscribed a")
	})
	t.Run("listens again when it may log in again", func(t *testing.T) {
		for _, sharded := range []bool{false, true} {
			server := redistest.Start(t)
			server.MustDo("ACL", "SETUSER", "rotated", "on", ">old", "+@all", "~*", "&*")
			s, o := open(t, rueidis.ClientOption{InitAddress: []string{server.Addr()}, Username: "rotated", Password: "old"}, Config{Plain: !sharded, Sharded: sharded, Cluster: sharded})
			s.Want("a", true)
			o.want(t, "subscribed a")
			server.MustDo("ACL", "SETUSER", "rotated", "<old", ">new")
			server.MustDo("CLIENT", "KILL", "TYPE", "PUBSUB")
			redistest.Await(t, "a refusal", func() bool { return strings.Contains(server.MustDo("ACL", "LOG").String(), "rotated") })
			server.MustDo("ACL", "SETUSER", "rotated", ">old")
			if sharded {
				o.want(t, "broke") // once, when it was killed
			}
			o.want(t, "subscribed a")
		}
	})
	t.Run("says which channel its user may not listen to, and goes on with the others", func(t *testing.T) {
		server := redistest.Start(t)
		server.MustDo("ACL", "SETUSER", "limited", "on", ">secret", "+@all", "~*", "resetchannels", "&mine:*")
		s, o := open(t, rueidis.ClientOption{InitAddress: []string{server.Addr()}, Username: "limited", Password: "secret"}, Config{Plain: true})
		s.Want("mine:1", true)
		o.want(t, "subscribed mine:1")
		s.Want("yours:1", true)
		o.want(t, "refused yours:1 true")
		server.MustDo("PUBLISH", "mine:1", "0")
		o.want(t, "heard")
	})
	t.Run("listens to all channels of many, but for those that its user may not listen to", func(t *testing.T) {
		const many = 2*maxChannels + 100
		for _, cfg := range []Config{{Plain: true}, {Sharded: true}, {Plain: true, Sharded: true}} {
			server := redistest.Start(t)
			server.MustDo("ACL", "SETUSER", "limited", "on", ">secret", "+@all", "~*", "resetchannels", "&mine:*")
			s, o := open(t, rueidis.ClientOption{InitAddress: []string{server.Addr()}, Username: "limited", Password: "secret"}, cfg)
			for i := range many {
				s.Want(fmt.Sprint("mine:", i), true)
				if i%maxChannels == maxChannels/2 {
					s.Want(fmt.Sprint("yours:", i), true)
				}
			}
			heard, refused := make(map[string]bool), 0
			for len(heard) < many || refused < 2 {
				select {
				case told := <-o.told:
					if what, channels, _ := strings.Cut(told, " "); what == "subscribed" {
						for c := range strings.FieldsSeq(channels) {
							heard[c] = true
						}
					} else if refused++; !strings.HasPrefix(channels, "yours:") {
						t.Fatalf("told %q", told)
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("%d of %d channels are heard, and %d refused", len(heard), many, refused)
				}
			}
			for of, wanted := range map[string]bool{"CHANNELS": cfg.Plain, "SHARDCHANNELS": cfg.Sharded} {
				if n := len(server.MustDo("PUBSUB", of).Texts()); (n == many) != wanted || len(heard) != many {
					t.Errorf("plain %v, sharded %v: PUBSUB %s lists %d, and %d are said to be heard", cfg.Plain, cfg.Sharded, of, n, len(heard))
				}
			}
		}
	})
	t.Run("has the loop look for the node of a sharded channel", func(t *testing.T) {
		c := redistest.StartCluster(t, 3, 0)
		s, o := open(t, rueidis.ClientOption{InitAddress: []string{c.Nodes[0].Addr()}, ForceSingleClient: true}, Config{Sharded: true, Cluster: true})
		s.Want("{b}", true) // hash slot 3300, of the first node
		o.want(t, "subscribed {b}")
		s.Want("{a}", true) // hash slot 15495, of the last node
		o.want(t, "redirected {a}")
		c.Nodes[0].MustDo("SPUBLISH", "{b}", "0")
		o.want(t, "heard")
		c.Nodes[0].MustDo("CLIENT", "KILL", "TYPE", "PUBSUB")
		o.want(t, "broke")
		o.want(t, "subscribed {b}")
	})
	t.Run("ends while the server is away", func(t *testing.T) {
		server, s, _ := listening(t, "a")
		server.Kill()
		s.Close()
		select {
		case <-s.stopped:
		default:
			t.Error("its goroutine goes on")
		}
	})
	t.Run("logs that messages cannot be heard, and when they are", func(t *testing.T) {
		server := redistest.Start(t)
		var log bytes.Buffer
		s, o := open(t, rueidis.ClientOption{InitAddress: []string{server.Addr()}}, Config{Plain: true, Cluster: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		server.Kill()
		s.Want("a", true)
		o.want(t, "broke")
		server.Restart()
		for told := range o.told {
			if told == "subscribed a" {
				break
			}
		}
		s.Close()
		if text := log.String(); !strings.Contains(text, "unlock messages cannot be heard") || !strings.Contains(text, "refused") || !strings.Contains(text, "heard again") {
			t.Errorf("the log says %s", text)
		}
	})
}
