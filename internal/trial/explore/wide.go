package explore

import (
	"slices"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/wire"
	"github.com/wheellock/wheellock/internal/redismodel"
	"github.com/wheellock/wheellock/scripts"
)

// wideWriter writes wide calls, with what the engine knows of the server's clock.
type wideWriter struct {
	*wire.Writer
	clock wire.ServerClock
}

func newWideWriter(settings wire.Settings) *wideWriter {
	w := &wideWriter{}
	w.Writer = wire.NewWriter(&settings, &w.clock)
	return w
}

// isOpen reports whether the hash slot of a command's name is on its way to another node.
func (s *state) isOpen(f *flight) bool {
	return (s.refusing == OpenSlot || s.refusing == ShutSlot) && (!s.w.Wide || f.Entry.Name == nameOf(0))
}

// together are the commands that go in one call with f, and f: where calls are wide those of its engine and operation that left at the same time.
func (s *state) together(f *flight) (all []*flight) {
	if !s.w.Wide || f.alone || slices.Contains(s.strays, f) {
		return nil
	}
	for _, other := range s.engines[f.by].flights {
		if other.Op == f.Op && other.Sent == f.Sent && !other.ran && !other.alone && !other.held {
			all = append(all, other)
		}
	}
	return all
}

// runTogether runs commands in one wide call. A name that it refuses is asked again alone, and nothing else of the call. That the engine
// hears of the others before that has run makes no difference to them: each name has a gate of its own.
func (s *state) runTogether(all []*flight) {
	e, batch := s.engines[all[0].by], make([]gate.Command, len(all))
	for i, f := range all {
		batch[i] = f.Command
		if s.isOpen(f) {
			s.server.Open(s.refusing == ShutSlot, f.keys...)
			s.surprised, s.unheard = true, true // as of a command that is alone
		}
	}
	call := wire.Call{Op: all[0].Op, To: len(all), Wide: true}
	keys, args := e.wide.Write(batch, call, all[0].Sent)
	r := s.eval(encoded{all[0].text, keys, args}, all...)
	s.server.Open(false)
	for i, f := range all {
		answer := r.answer
		if answer.Kind == redismodel.Array {
			answer = answer.Array[i]
		}
		if answer.Kind != redismodel.Int {
			s.violate("scripts-answer", "%v answered %v", f.Op, r.answer)
		}
		e.encoder.Decode(&batch[i], answer.Int)
		s.note("      redis runs, in a call of %d, %v %s: %d", len(all), f.Op, describe(f), answer.Int)
	}
	refused := call.Refused(nil, batch)
	for i, f := range all {
		f.ran, f.told, f.Result, f.Reply, f.ServerMessage = true, true, batch[i].Result, batch[i].Reply, batch[i].ServerMessage
		s.checkHeld(f)
		if fault := f.Reply.Fault(); !s.isOpen(f) && (f.Result != gate.Answered || fault == scripts.Moving) {
			s.violate("batch-error-charges-nobody", "%v of %s, whose hash slot is not open, has %s, %v", f.Op, f.Entry.Name, resultNames[f.Result], fault)
		}
	}
	for _, again := range refused {
		f := all[again.From]
		f.ran, f.told, f.alone = false, false, true
	}
	s.spread(r.messages)
}

// checkHeld: of a mutex that is said to have another owner somebody is the owner.
func (s *state) checkHeld(f *flight) {
	if _, held := f.Reply.Held(); !held || f.Result != gate.Answered || f.Op != gate.Acquire && f.Op != gate.AcquireFenced && f.Op != gate.AcquireInLine {
		return
	}
	if name := slices.IndexFunc(s.engines[f.by].cells, func(c *gate.Entry) bool { return c == f.Entry }); name >= 0 && s.ownerOf(name) == "" {
		s.violate("reply-says-what-redis-holds", "%v of %s is said to be held, by nobody", f.Op, f.Entry.Name)
	}
}
