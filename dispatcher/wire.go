package dispatcher

import (
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/scripts"
)

// call is one EVALSHA: the commands from..to of a batch, all of one operation.
type call struct {
	op       gate.Op
	from, to int
}

// wire turns commands into EVALSHA calls and answers into replies. A lane owns it.
type wire struct {
	calls, spare []call
	commands     rueidis.Commands
	keys, args   []string
	text         []byte // what the args are cut from
	ends         []int  // where each arg ends in text
}

// cut divides a batch, which is ordered by operation, into calls.
func (w *wire) cut(batch []gate.Command) {
	w.calls = w.calls[:0]
	for from := 0; from < len(batch); {
		to := from + 1
		for to < len(batch) && to-from < maxNames && batch[to].Op == batch[from].Op {
			to++
		}
		w.calls = append(w.calls, call{batch[from].Op, from, to})
		from = to
	}
}

// encode appends the calls to the pipeline.
func (w *wire) encode(batch []gate.Command, sent gate.Time, d *Dispatcher) {
	digests := d.scripts.of.Load()
	for _, c := range w.calls {
		w.keys, w.text, w.ends = w.keys[:0], w.text[:0], w.ends[:0]
		w.head(c.op, sent, d)
		for i := c.from; i < c.to; i++ {
			batch[i].Sent = sent
			w.keys = append(w.keys, batch[i].Cell.Name)
			w.arguments(&batch[i], d.cfg.UUID)
		}
		w.cutArgs()
		w.commands = append(w.commands,
			d.cfg.Client.B().Evalsha().Sha1(digests[c.op]).Numkeys(int64(len(w.keys))).Key(w.keys...).Arg(w.args...).Build())
	}
}

// head writes what the script wants once.
func (w *wire) head(op gate.Op, sent gate.Time, d *Dispatcher) {
	switch op {
	case gate.Acquire:
		w.number(d.server.notAfter(sent))
	case gate.Release, gate.Confirm, gate.Swap:
		w.text = append(w.text, d.cfg.Publish...)
		w.end()
	}
}

// arguments writes what the script wants for one name.
func (w *wire) arguments(c *gate.Command, uuid string) {
	w.owner(c, uuid, c.ID)
	switch c.Op {
	case gate.Acquire, gate.Renew:
		w.number(c.Lease.Milliseconds())
	case gate.Confirm:
		w.number(c.Lease.Milliseconds())
		w.channel(c)
	case gate.Swap:
		w.owner(c, uuid, c.Next)
		w.number(c.Lease.Milliseconds())
		w.channel(c)
	case gate.Release:
		w.channel(c)
	}
}

func (w *wire) owner(c *gate.Command, uuid string, id uint64) {
	if c.Owner != "" {
		w.text = append(w.text, c.Owner...)
	} else {
		w.text = AppendOwner(w.text, uuid, id)
	}
	w.end()
}

func (w *wire) channel(c *gate.Command) {
	w.text = scripts.AppendLockChannel(w.text, c.Cell.Name)
	w.end()
}

func (w *wire) number(n int64) {
	w.text = strconv.AppendInt(w.text, n, 10)
	w.end()
}

func (w *wire) end() { w.ends = append(w.ends, len(w.text)) }

// cutArgs makes one string of all arguments and cuts it up: one allocation for a call of any size.
func (w *wire) cutArgs() {
	all := string(w.text)
	w.args = w.args[:0]
	from := 0
	for _, to := range w.ends {
		w.args = append(w.args, all[from:to])
		from = to
	}
}

// AppendOwner appends the owner field of a tenure, "<uuid>:<number>" as Redisson's is "<uuid>:<thread>".
func AppendOwner(b []byte, uuid string, id uint64) []byte {
	b = append(b, uuid...)
	b = append(b, ':')
	return strconv.AppendUint(b, id, 10)
}

// decode reads the answer of one call into the replies of its commands. An error is one about the whole call.
func (w *wire) decode(batch []gate.Command, r rueidis.RedisResult) error {
	answer, err := r.ToMessage()
	if err != nil {
		return err
	}
	if answer.IsInt64() {
		n, _ := answer.AsInt64()
		for i := range batch {
			batch[i].Result, batch[i].Reply = gate.Answered, scripts.Reply(n)
		}
		return nil
	}
	each, err := answer.ToArray()
	if err != nil || len(each) != len(batch) {
		return fmt.Errorf("wheellock: a script answered %d values for %d names", len(each), len(batch))
	}
	for i := range each {
		n, err := each[i].AsInt64()
		if err != nil {
			return fmt.Errorf("wheellock: a script answered no integer: %w", err)
		}
		batch[i].Result, batch[i].Reply = gate.Answered, scripts.Reply(n)
	}
	return nil
}
