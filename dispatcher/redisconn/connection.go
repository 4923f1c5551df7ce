package redisconn

import (
	"context"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/dispatcher/wire"
	"github.com/wheellock/wheellock/scripts"
	"github.com/wheellock/wheellock/wheel/stall"
)

// Connection carries one batch at a time to its server and back. While it is away its goroutine owns its fields; while it
// is idle the loop does. Start hands them over, and returned hands them back.
type Connection struct {
	// Class is which operations it carries. It does not change.
	Class Class
	// Task is what it goes for, and Batch what it carries then.
	Task  Task
	Batch []gate.Command
	// Err is why the connection broke; nil: it did not.
	Err error
	// Unmade says that a new network connection did not come about, or that the server did not let us in: nothing of Batch was sent.
	Unmade bool
	// Map is what a survey has found out; nil: no answer.
	Map *topology.Map

	server   *Server
	cfg      *Config
	returned func()
	work     chan struct{}
	stopped  chan struct{}

	writer       *wire.Writer
	calls, spare []wire.Call // to be sent in this round; of the round before
	pipe         rueidis.Commands
	watching     watch
	dedicated    dedicated
}

// Task is what a connection goes for.
type Task uint8

const (
	Carry  Task = iota // carry a batch
	Probe              // see whether the server is there, and load the scripts
	Survey             // ask which node serves which hash slot
)

// rounds is how often a part of a batch is sent at most: as it is, with its script, one by one, and without a line. The connection
// itself sends again what surely did not run; the gates decide about everything else.
const rounds = 4

// surveyTime bounds one survey.
const surveyTime = 2 * time.Second

// New starts a connection to a server. It dials when it is first used. Its goroutine calls returned each time it is idle
// again; returned must not block.
func New(s *Server, class Class, returned func()) *Connection {
	c := &Connection{
		Class: class, server: s, cfg: s.cfg, returned: returned, work: make(chan struct{}, 1), stopped: make(chan struct{}),
		writer: wire.NewWriter(&s.cfg.Settings, &s.clock),
	}
	go c.run()
	return c
}

// Start sends an idle connection off. Its goroutine receives at once, for it is idle.
func (c *Connection) Start() { c.work <- struct{}{} }

// Stop ends the connection once it is idle; the end of the server's context cuts one that is away. Wait waits for its
// end.
func (c *Connection) Stop() { close(c.work) }

// Wait returns when the connection's goroutine has ended.
func (c *Connection) Wait() { <-c.stopped }

// MarkStale makes an idle connection dial again before its next use, because another one to its server broke.
func (c *Connection) MarkStale() { c.dedicated.stale = true }

// Keep takes MarkStale back. It reports whether the idle connection has a network connection.
func (c *Connection) Keep() bool {
	c.dedicated.stale = false
	return c.dedicated.own != nil
}

func (c *Connection) run() {
	defer close(c.stopped)
	defer c.dedicated.disconnect()
	for range c.work {
		c.Err, c.Unmade = nil, false
		switch c.Task {
		case Carry:
			c.send()
		case Probe:
			c.probe()
		case Survey:
			c.survey()
		}
		if c.Err != nil {
			c.dedicated.disconnect()
		}
		suspects := c.suspects()
		stall.At("connection: answered, loop not told", c.cfg.UUID)
		c.returned()
		for _, name := range suspects { // after the answers that made them ours
			c.cfg.Suspect(name)
		}
	}
}

// send carries the batch. No caller's context is passed on: a command that is sent runs to its end.
func (c *Connection) send() {
	c.calls = wire.Cut(c.calls[:0], c.Batch, c.cfg.Cluster, c.server.wide())
	whole := false
	for range rounds {
		if len(c.calls) == 0 {
			return
		}
		sent := c.cfg.Clock.Now()
		stall.At("connection: clock read, nothing sent", c.cfg.UUID)
		c.pipe = c.pipe[:0]
		if c.server.timeIsStale(sent) {
			c.pipe = append(c.pipe, c.server.Client.B().Time().Build())
		}
		extra := len(c.pipe)
		c.encode(sent, whole)
		c.watch()
		results, enough := c.pipeline(sent)
		stall.At("connection: answers read, clock not", c.cfg.UUID)
		calls := len(results) - c.watching.sent
		c.readTime(results[:extra])
		c.readWatch(results[calls:])
		whole = c.read(results[extra:calls], sent) || whole
		if !enough {
			c.unreplicated(c.spare)
		}
	}
	for _, call := range c.calls { // not even with their scripts
		c.fail(call, rediserr.Verdict{Result: gate.Again, Message: "NOSCRIPT"})
	}
}

// readTime reads the answer to the question for the time, if it was asked.
func (c *Connection) readTime(results []rueidis.RedisResult) {
	for _, result := range results {
		if millis, err := serverMillis(result); err == nil {
			c.server.Learn(millis, c.cfg.Clock.Now())
		}
	}
}

// encode appends the calls to the pipeline; whole: with their scripts, which the server then has, and not by their digests.
func (c *Connection) encode(sent gate.Time, whole bool) {
	b, names := c.server.Client.B(), digests()
	for _, call := range c.calls {
		keys, args := c.writer.Write(c.Batch[call.From:call.To], call, sent)
		c.sendAsking(call)
		if whole {
			c.pipe = append(c.pipe, b.Eval().Script(gate.Operations[call.Op].Script.Text).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
			continue
		}
		c.pipe = append(c.pipe, b.Evalsha().Sha1(names[call.Op]).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
	}
}

// sendAsking sends ASKING: the next command is for a hash slot which the node does not serve yet.
func (c *Connection) sendAsking(call wire.Call) {
	if call.Asking {
		c.pipe = append(c.pipe, c.server.Client.B().Asking().Build())
	}
}

// pipeline runs the pipeline. enough: what replicas or the disk are to have, they have.
func (c *Connection) pipeline(sent gate.Time) (results []rueidis.RedisResult, enough bool) {
	conn := c.dedicated.open(sent, c.server)
	if c.Class == ReplicatedCommands {
		return c.confirmed(conn)
	}
	return conn.DoMulti(context.Background(), c.pipe...), true
}

// read takes the answers apart. What has to be sent again stays in calls; unknown says that the server lacks a script.
func (c *Connection) read(results []rueidis.RedisResult, sent gate.Time) (unknown bool) {
	calls := c.calls
	c.calls = c.spare[:0]
	well, unmade := false, c.dedicated.fresh
	for i, call := range calls {
		if call.Asking {
			results = results[1:] // of ASKING; were it refused, so would be the call
		}
		err := wire.Decode(c.Batch[call.From:call.To], results[i])
		if err == nil {
			well, unmade = true, false
			c.answered(call)
			continue
		}
		err = c.silent(err, sent)
		v := rediserr.Judge(err)
		unmade = unmade && v.Outside()
		if c.cfg.Cluster && topology.IsRedirect(v.Message) {
			v.Result = gate.Redirected
		}
		switch {
		case v.Missing:
			unknown, well = true, true
			c.calls = append(c.calls, call)
		case v.Link:
			c.Err = err
			c.fail(call, v)
			c.pipe = nil // the client may still be reading the slice it was given
		case call.Wide && v.Result != gate.Unknown: // it is about the first key, or the node takes no such calls
			c.calls = call.Split(c.calls, v.Doubts())
		case (v.Result == gate.Denied || v.Split) && call.To-call.From > 1: // invariant: batch-error-charges-nobody
			c.calls = call.Split(c.calls, "")
		case v.Apart && !call.Lineless && slices.ContainsFunc(c.Batch[call.From:call.To], gate.Command.Lined): // its other keys are together, or it has one
			call.Lineless = true
			c.calls = append(c.calls, call)
		default:
			c.fail(call, v)
		}
	}
	c.spare = calls
	c.Unmade = unmade
	c.dedicated.proved(well)
	return unknown
}

// answered notes what a call that ran says about the node, and has what a wide one refused sent alone
// (invariant: batch-error-charges-nobody).
func (c *Connection) answered(call wire.Call) {
	if call.Wide {
		c.calls = call.Refused(c.calls, c.Batch)
	} else if call.Doubted != "" && c.Batch[call.From].Reply.Fault() != scripts.Other {
		c.server.refusesWide.Store(call.Doubted)
	}
}

func (c *Connection) fail(call wire.Call, v rediserr.Verdict) {
	for i := call.From; i < call.To; i++ {
		c.Batch[i].Result, c.Batch[i].ServerMessage, c.Batch[i].Reply = v.Result, v.Message, 0
		if v.Fault != scripts.None {
			c.Batch[i].Result, c.Batch[i].ServerMessage, c.Batch[i].Reply = gate.Answered, "", v.Fault.Reply()
		}
	}
}

// silent is err; of a server that has not answered, it says so.
func (c *Connection) silent(err error, sent gate.Time) error {
	addr := c.server.addr
	if addr == "" {
		addr = topology.ServerOf(c.server.Client)
	}
	return rediserr.Silent(err, addr, c.cfg.Clock.Now()-sent)
}

// probe sees whether the server is there, learns its time and loads the scripts.
func (c *Connection) probe() {
	ctx, cancel := context.WithTimeout(c.server.ctx, c.cfg.ProbeTime)
	defer cancel()
	if c.server.Client == nil {
		if c.server.Client, c.Err = c.cfg.Connect(c.server.addr); c.Err != nil {
			return
		}
	}
	began := c.cfg.Clock.Now()
	loaded, err := Load(ctx, c.dedicated.open(began, c.server), c.cfg.Clock)
	c.Err = c.silent(err, began)
	if err == nil {
		c.server.LearnFrom(loaded)
	}
}

// survey asks the server which node serves which hash slot.
func (c *Connection) survey() {
	ctx, cancel := context.WithTimeout(c.server.ctx, surveyTime)
	defer cancel()
	began := c.cfg.Clock.Now()
	c.Map, c.Err = topology.Ask(ctx, c.server.Client, c.server.addr)
	c.Err = c.silent(c.Err, began)
}
