package wheelotel

import (
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	"github.com/wheellock/wheellock/engine"
)

// Observer returns what goes into Options.Observer of the engine to have risks of holds in their spans: an event
// "wheellock.at_risk" when a renewal is overdue, with what is left in seconds and why, and "wheellock.renewed" when it came after
// all. It is called before the first lock is taken. [engine.Observers] combines it with others.
func (t *Tracer) Observer() *engine.Observer {
	t.spans.observed.Store(true)
	return &engine.Observer{Risk: t.spans.note}
}

// spans are the holds that have a span, for the Observer to find it.
type spans struct {
	observed atomic.Bool // else none is kept

	mu    sync.Mutex                 // guards the rest; held while events are added
	holds map[spanKey]map[*Hold]bool // whether the span says that the hold is at risk
}

// spanKey is what an Observer is told of a hold. Holds of one Owner on one lock share it.
type spanKey struct {
	name, owner string
	kind        engine.Kind
}

func keyOf(name string, kind engine.Kind, owner string) spanKey {
	if kind == engine.KindQuorum { // its owner fields change as it repairs itself, and a process has it once
		owner = ""
	}
	return spanKey{name, owner, kind}
}

func (s *spans) add(h *Hold) {
	if !s.observed.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds == nil {
		s.holds = make(map[spanKey]map[*Hold]bool)
	}
	if s.holds[h.key] == nil {
		s.holds[h.key] = make(map[*Hold]bool)
	}
	s.holds[h.key][h] = false
}

func (s *spans) remove(h *Hold) {
	if !s.observed.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.holds[h.key], h); len(s.holds[h.key]) == 0 {
		delete(s.holds, h.key)
	}
}

// note adds the event of a risk, or of its end, to the spans that lack it.
func (s *spans) note(k engine.Risk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	risky := k.Err != nil
	for h, was := range s.holds[keyOf(k.Name, k.Kind, k.Owner)] {
		if was == risky {
			continue
		}
		s.holds[h.key][h] = risky
		if risky {
			h.span.AddEvent("wheellock.at_risk", trace.WithAttributes(leftKey.Float64(k.Left.Seconds()), causeKey.String(valid(k.Err.Error()))))
		} else {
			h.span.AddEvent("wheellock.renewed")
		}
	}
}
