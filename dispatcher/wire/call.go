// Package wire turns the commands of gates into calls of scripts, and the answers of scripts into replies.
//
// A batch of commands is cut into calls, many names in one EVALSHA; Decode reads their answers (call.go). A Writer writes the
// keys and arguments of each (writer.go), as gate.Operations says in the words of operations.go. An acquire carries a deadline in
// the server's time, which ServerClock estimates (serverclock.go). Nothing here does I/O: an Encoder (encoder.go) does the same
// for a program that runs the scripts itself.
package wire

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// Call is one EVALSHA: the commands From..To of a batch, all of one operation, and in a cluster of one hash slot, unless it is wide.
type Call struct {
	Op       gate.Op
	From, To int
	Asking   bool   // ASKING goes before it
	Lineless bool   // no line is named: the keys of a name lie apart, or this user may not use that of the line
	Wide     bool   // of several hash slots of one node: it declares its first key alone, and each name is refused for itself
	Doubted  string // what the node said to a wide call with the command, if it may refuse all of them; else empty
}

// Commands is how many commands of Redis it takes.
func (c Call) Commands() int {
	if c.Asking {
		return 2
	}
	return 1
}

// maxNames is how many names one EVALSHA takes: about a quarter of a millisecond of the server's time.
const maxNames = 128

// Cut divides a batch, which is ordered by operation, into calls, and appends them to calls. For a node of a cluster that takes no wide calls
// it orders the batch by hash slot besides. A command that comes with ASKING goes alone: of many keys some might not be there yet.
func Cut(calls []Call, batch []gate.Command, cluster, wide bool) []Call {
	if cluster && !wide {
		slices.SortFunc(batch, func(a, b gate.Command) int {
			return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Entry.Slot, b.Entry.Slot))
		})
	}
	for from := 0; from < len(batch); {
		first := &batch[from]
		call := Call{Op: first.Op, From: from, To: from + 1, Asking: first.Asking}
		for !first.Asking && call.To < len(batch) && call.To-from < maxNames {
			next := &batch[call.To]
			elsewhere := next.Entry.Slot != first.Entry.Slot
			if next.Op != first.Op || next.Asking || elsewhere && !wide {
				break
			}
			call.To++
			call.Wide = call.Wide || elsewhere
		}
		calls = append(calls, call)
		from = call.To
	}
	return calls
}

// Split appends a call for each command of c. None of them goes with ASKING: a call that does has one command.
func (c Call) Split(calls []Call, doubted string) []Call {
	for at := c.From; at < c.To; at++ {
		calls = append(calls, Call{Op: c.Op, From: at, To: at + 1, Doubted: doubted})
	}
	return calls
}

// Refused appends a call for each command of batch that c, a wide call, has refused for a reason that may be the call's: its name is moving,
// this user may not use its keys, or the error is not known.
func (c Call) Refused(calls []Call, batch []gate.Command) []Call {
	for at := c.From; at < c.To; at++ {
		switch fault := batch[at].Reply.Fault(); {
		case fault == scripts.Other:
			calls = append(calls, Call{Op: c.Op, From: at, To: at + 1, Doubted: fault.String()})
		case fault.Forbidden(), batch[at].Result == gate.Again:
			calls = append(calls, Call{Op: c.Op, From: at, To: at + 1})
		}
	}
	return calls
}

// Decode reads the answer to one call into the replies of its commands, which are batch. An error is about the whole call.
func Decode(batch []gate.Command, r rueidis.RedisResult) error {
	answer, err := r.ToMessage()
	if err != nil {
		return err
	}
	if answer.IsInt64() {
		n, _ := answer.AsInt64()
		for i := range batch {
			answered(&batch[i], scripts.Reply(n))
		}
		return nil
	}
	each, err := answer.ToArray()
	if err != nil || len(each) != len(batch) {
		return fmt.Errorf("wheellock: a script answered %d values for %d names", len(each), len(batch))
	}
	for i := range each {
		if !each[i].IsInt64() { // a string of digits is another command's answer
			return errors.New("wheellock: a script answered no integer")
		}
		n, _ := each[i].AsInt64()
		answered(&batch[i], scripts.Reply(n))
	}
	return nil
}

// answered notes the reply to a command. A command that met a key which is moving to another node did nothing: it counts
// as one that the node refused for now.
func answered(c *gate.Command, r scripts.Reply) {
	c.Result, c.Reply = gate.Answered, r
	if fault := r.Fault(); fault == scripts.Moving {
		c.Result, c.Reply, c.ServerMessage = gate.Again, 0, fault.String()
	}
}
