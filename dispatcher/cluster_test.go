package dispatcher

import (
	"log/slog"
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/topology"
)

// A node that serves nothing is kept until a survey has confirmed that, for a while if it can be reached, and as long as there is
// something to be done.
func TestNodesThatServeNothingAreClosed(t *testing.T) {
	const now, asked = time.Minute, time.Minute - time.Second // the last survey was answered then
	for _, c := range []struct {
		name   string
		usedAt gate.Time
		state  linkState
		change func(*loop, *node)
		kept   bool
	}{
		{name: "it can be reached, and was used of late", usedAt: now - lingerTime + 1, state: linkUp, kept: true},
		{name: "it can be reached, and was used long ago", usedAt: now - lingerTime, state: linkUp},
		{name: "it cannot be reached", usedAt: asked - 1, state: linkDown},
		{name: "it was used since the last survey", usedAt: asked, state: linkDown, kept: true},
		{name: "it serves a hash slot", state: linkDown, kept: true, change: func(l *loop, n *node) { l.nodes.cluster.slots.Assign(7, n) }},
		{name: "a channel is listened to there", state: linkDown, kept: true, change: func(l *loop, n *node) { l.routes.byChannel["a"] = route{node: n} }},
		{name: "a connection is away", state: linkDown, kept: true, change: func(_ *loop, n *node) { n.all = []*connection{{}} }},
		{name: "a command waits to be sent there", state: linkDown, kept: true, change: func(_ *loop, n *node) {
			n.out.put(&gate.Command{Op: gate.Release})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLoop(Config{Gate: &gate.Config{Stats: &gate.Stats{}}, Logger: slog.New(slog.DiscardHandler)})
			l.nodes.cluster = &cluster{nodes: &l.nodes, slots: topology.NewTable(&node{}), survey: topology.NewSurvey()}
			n := &node{nodes: &l.nodes, addr: "a:1", cancel: func() {}, server: redisconn.NewServer(t.Context(), nil, "a:1", nil), usedAt: c.usedAt}
			n.link.state, n.link.outage = c.state, l.cfg.Outages.Of("a")
			n.out.commands = new([gate.Ops][]gate.Command)
			l.nodes.all = []*node{n}
			l.nodes.cluster.survey.Answered(asked)
			if c.change != nil {
				c.change(l, n)
			}
			l.nodes.cluster.closeUnused(now)
			if kept := len(l.nodes.all) == 1; kept != c.kept {
				t.Errorf("kept: %v", kept)
			}
			l.nodes.cluster.gone.Wait()
		})
	}
}
