package dispatcher

import (
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/scripts"
)

// Encoder writes commands as a connection does, one at a time, for a program that runs the scripts elsewhere than in Redis. One
// goroutine uses it.
type Encoder struct {
	wire wire
	node node
}

// NewEncoder makes the encoder of an engine. Of cfg it uses what scripts are told: UUID, Publish, FenceTTL, Declared and
// Gate.
func NewEncoder(cfg Config) *Encoder {
	return &Encoder{wire: wire{uuid: cfg.UUID}, node: node{d: &Dispatcher{cfg: cfg}}}
}

// Learn notes what the clock of the server showed, in ms since 1970, when its answer was read.
func (e *Encoder) Learn(serverMillis int64, at gate.Time) { e.node.server.learn(serverMillis, at) }

// Encode returns the script, the keys and the arguments of a command that is sent then, and sets its Sent. The slices are
// valid until the next call.
func (e *Encoder) Encode(c *gate.Command, sent gate.Time) (text string, keys, args []string) {
	one := [1]gate.Command{*c}
	e.wire.write(one[:], call{op: c.Op, to: 1}, sent, &e.node)
	c.Sent = sent
	return operations[c.Op].script.Text, e.wire.keys, e.wire.args
}

// Decode notes the integer that the script answered.
func (e *Encoder) Decode(c *gate.Command, answer int64) { answered(c, scripts.Reply(answer)) }
