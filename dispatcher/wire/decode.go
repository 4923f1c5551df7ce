package wire

import (
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/scripts"
)

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
