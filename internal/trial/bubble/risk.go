package bubble

import (
	"sync"

	"github.com/wheellock/wheellock/engine"
)

// warned is what the Observer of an engine was told of risks (invariant: warned-once).
type warned struct {
	mu    sync.Mutex     // guards the rest
	risks map[string]int // by owner field: told, and not that they were renewed
	ended int            // holds
}

// observer judges that nobody is told of a risk whose renewals come in time, nor of a renewal without a risk.
func (w *World) observer(p *process) *engine.Observer {
	if w.plan.blocked { // all that would run it
		return nil
	}
	told := &warned{risks: make(map[string]int)}
	p.warned = append(p.warned, told)
	return &engine.Observer{
		Risk: func(k engine.Risk) {
			w.note("%v: risk of %s by %s, %v left: %v", p, k.Name, k.Owner, k.Left, k.Err)
			if k.Kind == engine.KindQuorum { // it may have got parts since
				k.Owner = k.Name
			}
			told.mu.Lock()
			defer told.mu.Unlock()
			if k.Err == nil {
				told.risks[k.Owner]--
			} else {
				told.risks[k.Owner]++
			}
			if told.risks[k.Owner] < 0 {
				w.violation("risk", "%v: %s by %s was renewed, and was not at risk", p, k.Name, k.Owner)
			}
			if k.Err != nil && (k.Left <= 0 || p.well() > 2*w.plan.lease) {
				w.violation("risk", "%v: %s by %s is at risk, with %v left, because of %v, %v after anything befell it", p, k.Name, k.Owner, k.Left, k.Err, p.well())
			}
		},
		Ended: func(engine.End) {
			told.mu.Lock()
			defer told.mu.Unlock()
			told.ended++
		},
	}
}

// settled judges that every risk was followed by a renewal or by the end of its hold. Nobody holds anything.
func (told *warned) settled(p *process) {
	told.mu.Lock()
	defer told.mu.Unlock()
	open := 0
	for _, n := range told.risks {
		open += n
	}
	if open > told.ended {
		p.w.violation("risk", "%v: of %d risks nobody was told how they ended; %d holds have", p, open, told.ended)
	}
}
