package dispatcher

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/reconnect"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/subscriber"
	"github.com/wheellock/wheellock/scripts"
)

// Invariant: nothing is due at once twice without progress. Sentinel makes another server the master while a probe of the
// old one is out: the loop must wait for the probe, whose answer says nothing any more, and send another.
// invariant: loop-never-waits
func TestSwitchedWhileProbing(t *testing.T) {
	l := newLoop(Config{Gate: &gate.Config{Stats: &gate.Stats{}}, Logger: slog.New(slog.DiscardHandler)})
	n := &node{nodes: &l.nodes, server: &redisconn.Server{}, subscriber: &subscriber.Subscriber{}, idle: []*connection{{Connection: &redisconn.Connection{}}}}
	l.nodes.all = []*node{n}
	n.link = link{state: linkShaky, probing: true, probeAt: gate.Never}

	n.switched(time.Second)
	if at := n.alarm(); at != gate.Never {
		t.Errorf("with a probe out the node is to be looked at %v", at)
	}
	n.probed(2*time.Second, nil)
	if n.link.state == linkUp {
		t.Error("the answer of the old master is taken for that of the new one")
	}
	if at := n.alarm(); at > 2*time.Second {
		t.Errorf("the next probe is due at %v, want at once", at)
	}
}

// linked is a loop with one node, which is reached since a minute ago, a count of how often the engine is told that a node is out of reach,
// and the log.
func linked() (l *loop, n *node, told *int, log *bytes.Buffer) {
	told, log = new(int), new(bytes.Buffer)
	l = newLoop(Config{Gate: &gate.Config{Stats: &gate.Stats{}}, Logger: slog.New(slog.NewTextHandler(log, nil)), Down: func() { *told++ }})
	n = &node{nodes: &l.nodes, addr: "a:1", server: &redisconn.Server{}, subscriber: &subscriber.Subscriber{}, idle: []*connection{{Connection: &redisconn.Connection{}}}}
	n.link = link{state: linkUp, probeAt: gate.Never}
	l.nodes.all = []*node{n}
	l.nodes.updateHealth()
	return l, n, told, log
}

// invariant: handoff-only-while-fresh
func TestALinkThatBreaks(t *testing.T) {
	const now = time.Minute
	silence := rediserr.Silent(context.DeadlineExceeded, "a:1", time.Second)
	for name, c := range map[string]struct {
		err           error
		broken, found int // how often the engine has been told when the connection has broken, and when a probe has failed
	}{
		"of a server that is silent": {silence, 1, 1},
		"of a server that hangs up":  {errors.New("EOF"), 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l, n, told, _ := linked()
			n.breakLink(now, c.err)
			if n.link.state != linkShaky || l.nodes.up.Load() || l.cfg.Gate.Epoch != 1 || *told != c.broken || n.link.cause != c.err.Error() {
				t.Errorf("broken: %+v, up %t, epoch %d, told %d times", n.link, l.nodes.up.Load(), l.cfg.Gate.Epoch, *told)
			}
			if n.link.probeAt != now {
				t.Errorf("the first probe is due at %v, want %v", n.link.probeAt, now)
			}
			for range 2 {
				n.link.probeAt = gate.Never
				n.probed(now+time.Second, errors.New("refused"))
			}
			if n.link.state != linkDown || n.link.cause != "refused" || *told != c.found || l.cfg.Gate.Epoch != 1 {
				t.Errorf("down: %+v, epoch %d, told %d times", n.link, l.cfg.Gate.Epoch, *told)
			}
			n.link.probeAt = gate.Never
			n.probed(now+2*time.Second, nil)
			if n.link.state != linkUp || !l.nodes.up.Load() || n.link.probeAt != gate.Never {
				t.Errorf("up again: %+v, up %t", n.link, l.nodes.up.Load())
			}
		})
	}
}

// A node that has never been reached is out of reach when its first probe has failed, and the log says why.
func TestANodeThatWasNeverReached(t *testing.T) {
	_, n, told, log := linked()
	n.link.state = linkShaky
	if n.probed(time.Minute, errors.New("refused")); n.link.state != linkDown || *told != 1 {
		t.Errorf("%+v, told %d times", n.link, *told)
	}
	if text := log.String(); !strings.Contains(text, "cannot be reached") || !strings.Contains(text, "error=refused") {
		t.Errorf("the log says %s", text)
	}
}

// A connection that turns out to be broken has its node probed at once, and no other; a node that is known to be down has its pauses.
func TestTheNodeOfABrokenConnectionIsProbed(t *testing.T) {
	const now = time.Minute
	l, n := clustered(t)
	other := &node{nodes: &l.nodes, addr: "b:1"}
	l.nodes.all = append(l.nodes.all, other)
	due := func(addr string, state linkState) (gate.Time, gate.Time) {
		n.link, other.link = link{state: state, probeAt: gate.Never}, link{probeAt: gate.Never}
		broken{addr}.deliver(l, now)
		return n.link.probeAt, other.link.probeAt
	}
	if at, of := due("a:1", linkUp); at != now || of != gate.Never {
		t.Errorf("probes are due at %v, and at %v of another node", at, of)
	}
	if at, _ := due("a:1", linkDown); at != gate.Never {
		t.Errorf("a probe of a node that is down is due at %v", at)
	}
	l.nodes.cluster = nil
	if at, _ := due("elsewhere:1", linkUp); at != now {
		t.Errorf("a probe of a single server is due at %v", at)
	}
}

// A server that is a replica is left once the link has lasted for a second, then for two, and so on to a minute, until it has been a master for long.
func TestAServerThatStaysAReplicaIsLeftMoreAndMoreRarely(t *testing.T) {
	_, n, _, _ := linked()
	now := gate.Time(0)
	for _, least := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 64} {
		least *= reconnect.Steady
		if n.demoted(now + least - 1); n.link.state != linkUp {
			t.Fatalf("it is left before the link has lasted for %v", least)
		}
		now += least
		if n.demoted(now); n.link.state == linkUp || n.link.probeAt != now {
			t.Fatalf("it is not left when the link has lasted for %v", least)
		}
		n.link.state, n.link.upAt = linkUp, now
	}
	now += 2 * time.Minute
	n.demoted(now + 9*time.Second)
	n.link.state, n.link.upAt = linkUp, now
	if n.demoted(now + reconnect.Steady); n.link.state == linkUp {
		t.Error("it is not left soon after it was a master for two minutes")
	}
}

// deaf is a machine that does nothing.
type deaf struct{ gate.Machine }

func (deaf) Answer(gate.Time, *gate.Command, *gate.Effects) {}

// That a server refuses writes is logged once, and that it ceases to when it gives what it refused: a lock that another has shows nothing, and at
// maxmemory neither does a renewal.
func TestAServerThatRefusesWritesIsLogged(t *testing.T) {
	for word, f := range map[string]scripts.Fault{"READONLY": scripts.ReadOnly, "OOM": scripts.OutOfMem, "MISCONF": scripts.Misconf, "NOREPLICAS": scripts.NoReplicas} {
		for by, refused := range map[string]gate.Command{
			"a script":   {Op: gate.Acquire, Result: gate.Answered, Reply: f.Reply()},
			"the server": {Op: gate.Acquire, Result: gate.Again, ServerMessage: word + " so it is"},
		} {
			t.Run(word+" by "+by, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					_, n, _, log := linked()
					n.link.upAt = time.Minute // it is not left so soon
					hears := func(c gate.Command, want ...string) {
						t.Helper()
						log.Reset()
						c.Entry = &gate.Entry{Machine: deaf{}, Free: true}
						n.answered(time.Minute, &c)
						if text := log.String(); strings.Count(text, "\n") != min(len(want), 1) {
							t.Errorf("after %v %d %d the log says %q", c.Op, c.Result, c.Reply, text)
						} else {
							for _, words := range want {
								if !strings.Contains(text, words) {
									t.Errorf("%q does not say %q", text, words)
								}
							}
						}
					}
					renewed, acquired := gate.Command{Op: gate.Renew, Reply: 1}, gate.Command{Op: gate.Acquire, Reply: 1}
					for _, of := range []gate.Command{
						renewed, acquired, {Op: gate.Acquire, Reply: scripts.Moving.Reply()}, {Op: gate.Acquire, Reply: scripts.NoPerm.Reply()},
						{Op: gate.Acquire, Result: gate.Again, ServerMessage: "BUSY Redis is busy"}, {Op: gate.Acquire, Result: gate.Again, ServerMessage: "LOADING"},
					} {
						hears(of)
					}
					for range 2 {
						hears(refused, "level=WARN", "Redis refuses writes", "addr=a:1", "error=\""+word)
						hears(refused)
						hears(gate.Command{Op: gate.Acquire, Reply: -1002})
						hears(gate.Command{Op: gate.Renew, Reply: scripts.NotMine})
						time.Sleep(time.Second)
						if word == "OOM" {
							hears(renewed)
							hears(acquired, "level=INFO", "Redis takes writes again", "addr=a:1", "after=1s", "failures=2")
						} else {
							hears(renewed, "level=INFO", "Redis takes writes again", "addr=a:1", "after=1s", "failures=2")
						}
						hears(acquired)
						time.Sleep(time.Second)
					}
				})
			})
		}
	}
}
