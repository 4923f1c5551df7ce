package wire

import (
	"slices"
	"strconv"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// Settings is what an engine tells every script. It does not change.
type Settings struct {
	UUID, Salt      string        // the engine's: owner fields are "<UUID>:<number>", of simple locks with ":<Salt>" behind it
	Publish         string        // PUBLISH, SPUBLISH or BOTH
	FenceTTL        time.Duration // idle fencing counters expire after this; 0: never
	FairWaiterLease time.Duration // how long Redis keeps the waiters of an engine that nobody renews
	Declared        bool          // no script may touch a key that its call does not declare
}

// Writer writes the keys and arguments of calls. One goroutine at a time uses it.
type Writer struct {
	settings   *Settings
	clock      *ServerClock
	keys, args []string
	text       []byte          // what the args are cut from
	ends       []textEnd       // where each arg ends in text, and each key that is made
	leases     []time.Duration // written behind all other arguments

	// Of the call that is being written.
	batch []gate.Command
	sent  gate.Time
	call  Call
}

// NewWriter returns a writer for the server with that clock.
func NewWriter(s *Settings, clock *ServerClock) *Writer { return &Writer{settings: s, clock: clock} }

// Write returns the keys and arguments of a call that is sent now, and sets Sent of its commands, which are batch. A wide call declares its
// first key, and has all keys behind its arguments (scripts/prelude.lua). The slices are valid until the next Write.
func (w *Writer) Write(batch []gate.Command, c Call, sent gate.Time) (keys, args []string) {
	w.keys, w.text, w.ends = w.keys[:0], w.text[:0], w.ends[:0]
	w.batch, w.sent, w.call = batch, sent, c
	layout := &layouts[c.Op]
	for _, write := range layout.head {
		write(w, &batch[0])
	}
	for i := range batch {
		batch[i].Sent = sent
		for _, write := range layout.each {
			write(w, &batch[i])
		}
	}
	w.writeLeases()
	if !c.Wide {
		w.cutArgs()
		return w.keys, w.args
	}
	w.number(int64(len(w.keys)))
	w.string(scripts.KeysBehind)
	w.cutArgs()
	end := len(w.args) - 2
	many, word := w.args[end], w.args[end+1]
	w.args = append(append(w.args[:end], w.keys...), many, word)
	return w.keys[:1], w.args
}

// owner writes the owner field of a tenure of ours, with what stands behind it.
func (w *Writer) owner(c *gate.Command, suffix string) {
	w.text = append(c.Entry.Kind.AppendOwner(w.text, w.settings.UUID, w.settings.Salt, c.ID), suffix...)
	w.end()
}

// released writes the owner that is to lose the name.
func (w *Writer) released(c *gate.Command, suffix string) {
	if owner := c.Args.Release().Owner; owner != "" || c.ID == 0 { // of a simple lock it may be empty
		w.string(owner)
	} else {
		w.owner(c, suffix)
	}
}

// keyOf names the key that locks of this kind have besides; of another, the lock again.
func (w *Writer) keyOf(kind gate.Kind, c *gate.Command, key func(name string) string) {
	if c.Entry.Kind == kind {
		w.key(key(c.Entry.Name))
	} else {
		w.key(c.Entry.Name)
	}
}

// line names the line for a lock; if there can be none, the lock again.
func (w *Writer) line(c *gate.Command) {
	if w.call.Lineless || !c.Entry.Kind.InLine() {
		w.key(c.Entry.Name)
	} else {
		w.text = scripts.AppendLineKey(w.text, c.Entry.Name)
		w.keys = append(w.keys, "")
		w.ends = append(w.ends, textEnd{len(w.text), len(w.keys) - 1})
	}
}

// waiters names the queue of a fair lock, or the line for another.
func (w *Writer) waiters(c *gate.Command) {
	if c.Entry.Kind == gate.FairKind && !w.call.Lineless {
		w.key(scripts.FairQueue(c.Entry.Name))
	} else {
		w.line(c)
	}
}

// amount writes by how much a count changes, or what it is to be and for how long.
func (w *Writer) amount(c *gate.Command) {
	a := c.Args.Count()
	w.text = strconv.AppendInt(w.text, a.N, 10)
	if a.TTL > 0 {
		w.text = strconv.AppendInt(append(w.text, ','), a.TTL.Milliseconds(), 10)
	}
	w.end()
}

// code writes the code of a place in line; nothing if there is to be none.
func (w *Writer) code(code int64) {
	if code == 0 {
		w.string("")
	} else {
		w.number(code)
	}
}

// writeLeases writes them: one, if all are alike.
func (w *Writer) writeLeases() {
	if !slices.ContainsFunc(w.leases, func(lease time.Duration) bool { return lease != w.leases[0] }) {
		w.leases = w.leases[:min(len(w.leases), 1)]
	}
	for _, lease := range w.leases {
		w.number(lease.Milliseconds())
	}
	w.leases = w.leases[:0]
}

func (w *Writer) lockChannel(c *gate.Command) {
	w.text = scripts.AppendLockChannel(w.text, c.Entry.Name)
	w.end()
}

// listened writes the channel of a mutex; nothing if nobody listens.
func (w *Writer) listened(c *gate.Command) {
	if c.Entry.Kind == gate.SpinKind {
		w.string("")
	} else {
		w.lockChannel(c)
	}
}

// waitersChannel writes the channel on which waiters of a lock listen; of a fair lock nothing, for its queue has all.
func (w *Writer) waitersChannel(c *gate.Command) {
	switch c.Entry.Kind {
	case gate.RWKind:
		w.string(scripts.RWChannel(c.Entry.Name))
	case gate.FairKind:
		w.string("")
	default:
		w.lockChannel(c)
	}
}

func (w *Writer) key(key string) { w.keys = append(w.keys, key) }

// holdKey names the key of a reader's hold: of this owner, or, if it is empty, of a tenure of ours.
func (w *Writer) holdKey(c *gate.Command, owner string) {
	if owner == "" {
		owner = string(c.Entry.Kind.AppendOwner(nil, w.settings.UUID, "", c.ID))
	}
	w.key(scripts.HoldKey(c.Entry.Name, owner))
}

func (w *Writer) string(text string) {
	w.text = append(w.text, text...)
	w.end()
}

func (w *Writer) number(n int64) {
	w.text = strconv.AppendInt(w.text, n, 10)
	w.end()
}

// flag writes 1 or 0.
func (w *Writer) flag(is bool) {
	if is {
		w.number(1)
	} else {
		w.number(0)
	}
}

func (w *Writer) end() { w.ends = append(w.ends, textEnd{len(w.text), isArg}) }

// textEnd is where an argument ends in a text, or a key.
type textEnd struct{ at, key int }

// isArg stands in place of the index of a key.
const isArg = -1

// cutArgs makes one string of all arguments and keys that are made, and cuts it up: one allocation for a call of any size.
func (w *Writer) cutArgs() {
	all := string(w.text)
	w.args = w.args[:0]
	from := 0
	for _, to := range w.ends {
		if to.key == isArg {
			w.args = append(w.args, all[from:to.at])
		} else {
			w.keys[to.key] = all[from:to.at]
		}
		from = to.at
	}
}
