package wire

import (
	"strings"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// word writes a key or an argument of a call: at its head, of the first command; else of each.
type word func(*Writer, *gate.Command)

// words are those in which gate.Operations says how calls are written.
var words = map[string]word{
	// At the head of a call.
	"notAfter":    func(w *Writer, _ *gate.Command) { w.number(w.clock.NotAfter(w.sent)) }, // invariant: late-acquire-does-nothing
	"leaveBy":     func(w *Writer, _ *gate.Command) { w.number(w.clock.NotAfter(w.leaveBy())) },
	"publish":     func(w *Writer, _ *gate.Command) { w.string(w.settings.Publish) },
	"quietly":     func(w *Writer, _ *gate.Command) { w.string("NONE") }, // nobody is woken
	"engine":      func(w *Writer, _ *gate.Command) { w.string(w.settings.UUID) },
	"engineBytes": func(w *Writer, _ *gate.Command) { w.string(scripts.PermitBytes(w.settings.UUID)) },
	"life":        func(w *Writer, _ *gate.Command) { w.number(w.settings.FairWaiterLease.Milliseconds()) },
	"block":       func(w *Writer, _ *gate.Command) { w.number(gate.TokenBlock) },
	"idle":        func(w *Writer, _ *gate.Command) { w.number(w.settings.FenceTTL.Milliseconds()) },
	// The script must not look at keys that are not declared: the hash slot is moving to the node, which does not have all its keys yet,
	// or the engine keeps to declared keys.
	"declared": func(w *Writer, _ *gate.Command) { w.flag(w.call.Asking || w.settings.Declared) },

	// Keys.
	"name":         func(w *Writer, c *gate.Command) { w.key(c.Entry.Name) },
	"line":         (*Writer).line,
	"waiters":      (*Writer).waiters,
	"claims":       func(w *Writer, c *gate.Command) { w.key(scripts.ClaimsKey(c.Entry.Name)) },
	"counter":      func(w *Writer, c *gate.Command) { w.keyOf(gate.FencedKind, c, scripts.TokenKey) },
	"queue":        func(w *Writer, c *gate.Command) { w.key(scripts.FairQueue(c.Entry.Name)) },
	"deadlines":    func(w *Writer, c *gate.Command) { w.key(scripts.FairDeadlines(c.Entry.Name)) },
	"alive":        func(w *Writer, c *gate.Command) { w.key(scripts.FairAlive(c.Entry.Name)) },
	"hold":         func(w *Writer, c *gate.Command) { w.holdKey(c, "") },
	"releasedHold": func(w *Writer, c *gate.Command) { w.holdKey(c, c.Args.Release().Owner) },
	"held":         func(w *Writer, c *gate.Command) { w.key(scripts.PermitsKey(c.Entry.Name)) },
	"receipt":      func(w *Writer, c *gate.Command) { w.key(scripts.ReceiptKey(c.Entry.Name, w.settings.UUID)) },

	// Owner fields.
	"owner":          func(w *Writer, c *gate.Command) { w.owner(c, "") },
	"writer":         func(w *Writer, c *gate.Command) { w.owner(c, gate.WriterSuffix) },
	"detached":       func(w *Writer, c *gate.Command) { w.owner(c, gate.DetachedSuffix) },
	"released":       func(w *Writer, c *gate.Command) { w.released(c, "") },
	"releasedWriter": func(w *Writer, c *gate.Command) { w.released(c, gate.WriterSuffix) },
	"adopted":        func(w *Writer, c *gate.Command) { w.string(c.Args.Adopt().Owner) },

	// Channels. Nobody listens to that of a spin lock.
	"lockChannel":    (*Writer).lockChannel,
	"rwChannel":      func(w *Writer, c *gate.Command) { w.string(scripts.RWChannel(c.Entry.Name)) },
	"permitsChannel": func(w *Writer, c *gate.Command) { w.string(scripts.SemaphoreChannel(c.Entry.Name)) },
	"latchChannel":   func(w *Writer, c *gate.Command) { w.string(scripts.LatchChannel(c.Entry.Name)) },
	"listened":       (*Writer).listened,
	"waitersChannel": (*Writer).waitersChannel,

	// The rest.
	"lease":        func(w *Writer, c *gate.Command) { w.number(c.LeaseTime.Milliseconds()) },
	"leaseBehind":  func(w *Writer, c *gate.Command) { w.leases = append(w.leases, c.LeaseTime) }, // behind everything else of the call
	"number":       func(w *Writer, c *gate.Command) { w.number(int64(c.ID)) },
	"placeCode":    func(w *Writer, c *gate.Command) { w.code(c.Args.Place().Code) },
	"leftCode":     func(w *Writer, c *gate.Command) { w.code(c.Args.Release().Code) },
	"turn":         func(w *Writer, c *gate.Command) { w.number(c.Args.Release().Turn.Milliseconds()) },
	"successor":    func(w *Writer, c *gate.Command) { w.number(int64(c.Args.FairRelease().Successor)) },
	"leaving":      func(w *Writer, c *gate.Command) { w.number(c.Args.FairLeave().N) },
	"place":        func(w *Writer, c *gate.Command) { w.string(string(c.Args.FairAsk().Place)) },
	"joining":      func(w *Writer, c *gate.Command) { w.number(c.Args.FairAsk().Joining) },
	"firstJoining": func(w *Writer, c *gate.Command) { w.number(int64(c.Args.FairAsk().First)) },
	"fairCode":     func(w *Writer, c *gate.Command) { w.number(c.Args.FairAsk().Code) },
	"amount":       (*Writer).amount,
	"resent":       func(w *Writer, c *gate.Command) { w.flag(c.Args.Take().Resent) },
	"runs":         func(w *Writer, c *gate.Command) { w.string(string(c.Args.Take().Runs)) },
	"permitsPlace": func(w *Writer, c *gate.Command) { w.number(c.PermitsPlace()) },
	"collects":     func(w *Writer, c *gate.Command) { w.flag(c.Args.Take().Collects) },
	"holds":        func(w *Writer, c *gate.Command) { w.string(string(c.Args.PermitRenew().Holds)) },
	"freedHolds":   func(w *Writer, c *gate.Command) { w.string(string(c.Args.PermitFree().Holds)) },
	"freedIDs":     func(w *Writer, c *gate.Command) { w.string(string(c.Args.PermitFree().IDs)) },
}

// layout is how the calls of an operation are written.
type layout struct{ head, each []word }

// layouts has that of every operation.
var layouts = func() (all [gate.Ops]layout) {
	for op, o := range gate.Operations {
		all[op] = layout{wordsOf(o.Head), wordsOf(o.Keys + " " + o.Args)}
	}
	return all
}()

// wordsOf finds words by their names.
func wordsOf(text string) (found []word) {
	for _, name := range strings.Fields(text) {
		if words[name] == nil {
			panic("unknown word: " + name)
		}
		found = append(found, words[name])
	}
	return found
}

// Scripts yields every operation with its script, in the order of the operations.
func Scripts(yield func(gate.Op, *scripts.Script) bool) {
	for op := gate.None + 1; op < gate.Ops; op++ {
		if !yield(op, gate.Operations[op].Script) {
			return
		}
	}
}
