package dispatcher

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/scripts"
)

// call is one EVALSHA: the commands from..to of a batch, all of one operation, and in a cluster of one hash slot.
type call struct {
	op       gate.Op
	from, to int
	asking   bool // ASKING goes before it
}

// commands is how many it takes.
func (c call) commands() int {
	if c.asking {
		return 2
	}
	return 1
}

// wire turns commands into EVALSHA calls and answers into replies. A connection owns it.
type wire struct {
	uuid         string
	calls, spare []call
	commands     rueidis.Commands
	keys, args   []string
	text         []byte          // what the args are cut from
	ends         []int           // where each arg ends in text
	leases       []time.Duration // that go behind all
	asks         bool            // the call that is being written goes with ASKING
}

// cut divides a batch, which is ordered by operation, into calls. In a cluster it is ordered by hash slot besides, and
// a command that comes with ASKING goes alone: of many keys some might not be there yet.
func (w *wire) cut(batch []gate.Command, slotted bool) {
	if slotted {
		slices.SortFunc(batch, func(a, b gate.Command) int {
			return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Entry.Slot, b.Entry.Slot))
		})
	}
	w.calls = w.calls[:0]
	for from := 0; from < len(batch); {
		first, to := &batch[from], from+1
		for to < len(batch) && to-from < maxNames && batch[to].Op == first.Op && batch[to].Entry.Slot == first.Entry.Slot && !first.Asking && !batch[to].Asking {
			to++
		}
		w.calls = append(w.calls, call{first.Op, from, to, first.Asking})
		from = to
	}
}

// asking says that the next command is for a hash slot which the node does not serve yet.
func (w *wire) asking(c call, b rueidis.Builder) {
	if c.asking {
		w.commands = append(w.commands, b.Asking().Build())
	}
}

// encode appends the calls to the pipeline; whole: with their scripts, and not by their digests.
func (w *wire) encode(batch []gate.Command, sent gate.Time, n *node, whole bool) {
	digests := n.d.scripts.of.Load()
	for _, c := range w.calls {
		w.write(batch[c.from:c.to], c, sent, n)
		w.asking(c, n.client.B())
		if whole {
			w.commands = append(w.commands,
				n.client.B().Eval().Script(operations[c.op].script.Text).Numkeys(int64(len(w.keys))).Key(w.keys...).Arg(w.args...).Build())
			continue
		}
		w.commands = append(w.commands,
			n.client.B().Evalsha().Sha1(digests[c.op]).Numkeys(int64(len(w.keys))).Key(w.keys...).Arg(w.args...).Build())
	}
}

// write writes the keys and arguments of one call.
func (w *wire) write(batch []gate.Command, c call, sent gate.Time, n *node) {
	w.keys, w.text, w.ends = w.keys[:0], w.text[:0], w.ends[:0]
	op := &operations[c.op]
	w.asks = c.asking
	if op.head != nil {
		op.head(w, sent, n)
	}
	for i := range batch {
		batch[i].Sent = sent
		w.keys = append(w.keys, batch[i].Entry.Name)
		op.args(w, &batch[i])
	}
	w.writeLeases()
	w.cutArgs()
}

// owner writes the owner field of a tenure of ours.
func (w *wire) owner(id uint64) {
	w.text = AppendOwner(w.text, w.uuid, id)
	w.end()
}

// held names the set of the permits that are held, and the receipt.
func (w *wire) held(c *gate.Command) {
	w.keys = append(w.keys, scripts.PermitsKey(c.Entry.Name))
	w.receipt(c)
}

// receipt names the key of this engine's receipt.
func (w *wire) receipt(c *gate.Command) {
	w.keys = append(w.keys, scripts.ReceiptKey(c.Entry.Name, w.uuid))
}

// change writes what a name without owners is changed by.
func (w *wire) change(c *gate.Command, channel func(string) string) {
	w.receipt(c)
	w.number(int64(c.ID))
	w.number(c.N)
	w.string(channel(c.Entry.Name))
}

// writer writes the owner field of a tenure of ours that writes.
func (w *wire) writer(id uint64) {
	w.text = append(AppendOwner(w.text, w.uuid, id), gate.WriterSuffix...)
	w.end()
}

func (w *wire) lease(c *gate.Command) { w.number(c.Lease.Milliseconds()) }

// leaseBehind has the lease written behind everything else of the call.
func (w *wire) leaseBehind(c *gate.Command) { w.leases = append(w.leases, c.Lease) }

// writeLeases writes them: one, if all are alike.
func (w *wire) writeLeases() {
	if !slices.ContainsFunc(w.leases, func(lease time.Duration) bool { return lease != w.leases[0] }) {
		w.leases = w.leases[:min(len(w.leases), 1)]
	}
	for _, lease := range w.leases {
		w.number(lease.Milliseconds())
	}
	w.leases = w.leases[:0]
}

func (w *wire) lockChannel(c *gate.Command) {
	w.text = scripts.AppendLockChannel(w.text, c.Entry.Name)
	w.end()
}

// key names another key of the command's name, after the name itself.
func (w *wire) key(key string) { w.keys = append(w.keys, key) }

// fairKeys names the keys of a fair lock's queue.
func (w *wire) fairKeys(c *gate.Command) {
	w.key(scripts.FairQueue(c.Entry.Name))
	w.key(scripts.FairDeadlines(c.Entry.Name))
	w.key(scripts.FairAlive(c.Entry.Name))
}

// holdKey names the key of a reader's hold.
func (w *wire) holdKey(c *gate.Command) {
	owner := c.Owner
	if owner == "" {
		owner = string(AppendOwner(nil, w.uuid, c.ID))
	}
	w.key(scripts.HoldKey(c.Entry.Name, owner))
}

func (w *wire) rwChannel(c *gate.Command) { w.string(scripts.RWChannel(c.Entry.Name)) }

func (w *wire) string(text string) {
	w.text = append(w.text, text...)
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

// answered notes the reply to a command. One that met a key on its way to another node did nothing, and is as one that
// the node did not take.
func answered(c *gate.Command, r scripts.Reply) {
	c.Result, c.Reply = gate.Answered, r
	if fault := r.Fault(); fault == scripts.Moving {
		c.Result, c.Reply, c.ServerMessage = gate.Again, 0, fault.String()
	}
}
