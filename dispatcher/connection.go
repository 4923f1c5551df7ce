package dispatcher

import (
	"context"
	"errors"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/internal/stall"
	"github.com/wheellock/wheellock/scripts"
)

// connection carries one batch at a time to its node and back. While it is away the connection owns its fields; while it
// is idle the loop does. The work channel and the returned event hand it over.
type connection struct {
	n       *node
	d       *Dispatcher
	work    chan struct{}
	stopped chan struct{}

	task     task
	batch    []gate.Command
	askTime  bool      // ask for the server's time besides
	linkErr  error     // the connection broke
	topology *Topology // what a survey has found out

	serverMillis int64     // the server's time, 0 when not asked
	serverAt     gate.Time // when it was that time

	wire      wire
	watching  watch
	dedicated dedicatedConn
	class     commandClass
}

// task is what a connection goes for.
type task uint8

const (
	carrying  task = iota // to carry a batch
	probing               // to see whether the server is there, and load the scripts
	surveying             // to ask who serves what in a cluster
)

// rounds is how often a part of a batch is sent at most: as it is, after its script was loaded, one by one, and at
// last with its script, should somebody flush these all the time. What surely did not run is sent again by the connection
// itself; everything else the gates decide.
const rounds = 4

func newConnection(n *node, of commandClass) *connection {
	d := n.d
	return &connection{n: n, d: d, work: make(chan struct{}), stopped: make(chan struct{}), wire: wire{uuid: d.cfg.UUID}, class: of}
}

func (l *connection) run() {
	defer close(l.stopped)
	defer l.dedicated.hangUp()
	for range l.work {
		l.linkErr = nil
		switch l.task {
		case carrying:
			l.send()
		case probing:
			l.probe()
		case surveying:
			l.survey()
		}
		l.askTime = false
		if l.linkErr != nil {
			l.dedicated.hangUp()
		}
		suspects := l.suspects()
		stall.At("connection: answered, loop not told", l.d.cfg.UUID)
		l.d.mail.put(event{kind: returned, ref: l})
		for _, name := range suspects { // after the answers that made them ours
			l.d.Suspect(name)
		}
	}
}

// send carries the batch. No caller's context is passed on: a command that is sent runs to its end.
func (l *connection) send() {
	l.wire.cut(l.batch, l.d.cluster != nil)
	reload := false
	for round := range rounds {
		if len(l.wire.calls) == 0 {
			return
		}
		sent := l.d.cfg.Clock.Now()
		stall.At("connection: clock read, nothing sent", l.d.cfg.UUID)
		extra := l.prelude(reload)
		l.wire.encode(l.batch, sent, l.n, round == rounds-1)
		l.watch()
		results, enough := l.pipeline(sent)
		stall.At("connection: answers read, clock not", l.d.cfg.UUID)
		calls := len(results) - l.watching.sent
		l.readPrelude(results[:extra])
		l.readWatch(results[calls:])
		reload = l.read(results[extra:calls])
		if !enough {
			l.unreplicated(l.wire.spare)
		}
	}
	for _, c := range l.wire.calls { // not even with their scripts
		l.fail(c, verdict{result: gate.Again, message: "NOSCRIPT"})
	}
}

// prelude puts what goes before the calls into the pipeline, and says how many commands that is.
func (l *connection) prelude(reload bool) int {
	b := l.n.client.B()
	l.wire.commands = l.wire.commands[:0]
	if l.askTime {
		l.wire.commands = append(l.wire.commands, b.Time().Build())
	}
	if reload {
		for _, op := range operations {
			if s := op.script; s != nil {
				l.wire.commands = append(l.wire.commands, b.ScriptLoad().Script(s.Text).Build())
			}
		}
	}
	return len(l.wire.commands)
}

func (l *connection) readPrelude(results []rueidis.RedisResult) {
	if l.askTime {
		l.askTime = false
		if millis, err := serverMillis(results[0]); err == nil {
			l.serverMillis, l.serverAt = millis, l.d.cfg.Clock.Now()
		}
	}
}

// read takes the answers apart. What has to be sent again stays in wire.calls; reload says that a script
// was missing.
func (l *connection) read(results []rueidis.RedisResult) (reload bool) {
	calls := l.wire.calls
	l.wire.calls = l.wire.spare[:0]
	clean, well := true, false
	for i, c := range calls {
		if c.asking {
			results = results[1:] // of ASKING; were it refused, so would be the call
		}
		err := l.wire.decode(l.batch[c.from:c.to], results[i])
		if err == nil {
			well = true
			continue
		}
		v := judge(err)
		clean = clean && !v.link
		switch {
		case l.d.cluster != nil && redirects(v.message):
			v.result = gate.Redirected
			l.fail(c, v)
		case v.reload:
			reload, well = true, true
			l.wire.calls = append(l.wire.calls, c)
		case v.link:
			l.linkErr = err
			l.fail(c, v)
		case (v.result == gate.Denied || v.split) && c.to-c.from > 1: // one of many is at fault: charged to nobody, sent singly (rule 14)
			for at := c.from; at < c.to; at++ {
				l.wire.calls = append(l.wire.calls, call{op: c.op, from: at, to: at + 1})
			}
		default:
			l.fail(c, v)
		}
	}
	l.wire.spare = calls
	l.dedicated.proved(well)
	if !clean { // the client may still be reading the slice it was given
		l.wire.commands = nil
	}
	return reload
}

func (l *connection) fail(c call, v verdict) {
	for i := c.from; i < c.to; i++ {
		l.batch[i].Result, l.batch[i].ServerMessage, l.batch[i].Reply = v.result, v.message, 0
		if v.fault != scripts.None {
			l.batch[i].Result, l.batch[i].ServerMessage, l.batch[i].Reply = gate.Answered, "", v.fault.Reply()
		}
	}
}

var errSilent = errors.New("no answer")

// probe sees whether the server is there, learns its time and loads the scripts.
func (l *connection) probe() {
	cfg := &l.d.cfg
	ctx, cancel := context.WithTimeout(l.n.ctx, cfg.ProbeTime)
	defer cancel()
	if l.n.client == nil { // the first probe of a node; until it is back nobody else looks
		if l.n.client, l.linkErr = cfg.Cluster.Connect(l.n.addr); l.linkErr != nil {
			return
		}
	}
	loaded, err := Load(ctx, l.dedicated.open(cfg.Clock.Now(), l.n), cfg.Clock)
	if ctx.Err() != nil && err != nil {
		err = errors.Join(errSilent, err)
	}
	l.linkErr = err
	if err == nil {
		l.d.scripts.store(loaded.digests)
		l.serverMillis, l.serverAt = loaded.serverMillis, loaded.at
	}
}
