package wire

import (
	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// Encoder writes commands as a connection does, one at a time, for a program that runs the scripts elsewhere than in
// Redis. One goroutine uses it.
type Encoder struct {
	clock  ServerClock
	writer *Writer
}

// NewEncoder returns the encoder of an engine.
func NewEncoder(s Settings) *Encoder {
	e := &Encoder{}
	e.writer = NewWriter(&s, &e.clock)
	return e
}

// Learn notes what the clock of the server showed, in ms since 1970, when its answer was read.
func (e *Encoder) Learn(serverMillis int64, at gate.Time) { e.clock.Learn(serverMillis, at) }

// Encode returns the script, the keys and the arguments of a command that is sent then, and sets its Sent. lineless: no line is named. The
// slices are valid until the next call.
func (e *Encoder) Encode(c *gate.Command, lineless bool, sent gate.Time) (text string, keys, args []string) {
	one := [1]gate.Command{*c}
	keys, args = e.writer.Write(one[:], Call{Op: c.Op, To: 1, Lineless: lineless}, sent)
	c.Sent = sent
	return gate.Operations[c.Op].Script.Text, keys, args
}

// Decode notes the integer that the script answered.
func (e *Encoder) Decode(c *gate.Command, answer int64) { answered(c, scripts.Reply(answer)) }
