package bubble

import "github.com/wheellock/wheellock/engine"

// observer judges that nobody is told of a risk whose renewals come in time (invariant: warned-once).
func (p *process) observer() *engine.Observer {
	if p.w.plan.blocked { // all that would run it
		return nil
	}
	return &engine.Observer{Risk: func(k engine.Risk) {
		p.w.note("%v: risk of %s by %s, %v left: %v", p, k.Name, k.Owner, k.Left, k.Err)
		if k.Err != nil && p.well() > 2*p.w.plan.lease {
			p.w.violation("risk", "%v: %s by %s is at risk because of %v, %v after anything befell it", p, k.Name, k.Owner, k.Err, p.well())
		}
	}}
}
