package gate

import (
	"fmt"
	"time"
)

// want is a test's own expectation.
func (w *world) want(ok bool, format string, args ...any) {
	if !ok {
		w.broken("want: " + fmt.Sprintf(format, args...))
	}
}

// outsideLine is what an operation of a mutex does besides what concerns its line.
func outsideLine(op Op) Op {
	switch op {
	case AcquireInLine:
		return Acquire
	case ReleaseFromLine:
		return Release
	case AcquireSimpleInLine:
		return AcquireSimple
	case ReleaseSimpleFromLine:
		return ReleaseSimple
	case AcquireWriteInLine:
		return AcquireWrite
	case ReleaseReadFromLine:
		return ReleaseRead
	case ReleaseWriteFromLine:
		return ReleaseWrite
	}
	return op
}

// expect is the one command in flight, which must be this, with a line or without.
func (p *process) expect(op Op) *inFlightCommand {
	if len(p.outbox) != 1 || outsideLine(p.outbox[0].Op) != op {
		p.world.broken(fmt.Sprintf("want: %s has one command in flight, %v; it has %v", p.uuid, op, p.inFlight()))
		return nil
	}
	return p.outbox[0]
}

func (p *process) inFlight() []string {
	var ops []string
	for _, c := range p.outbox {
		ops = append(ops, fmt.Sprintf("%v %d", c.Op, c.ID))
	}
	return ops
}

// silent says that nothing is in flight.
func (p *process) silent() {
	p.world.want(len(p.outbox) == 0, "%s has nothing in flight; it has %v", p.uuid, p.inFlight())
}

func (c *caller) wantAnswer(why Why) {
	c.from.world.want(c.answered && c.out.Why == why, "%v is told %s; it was told %v %+v", c, whyNames[why], c.answered, c.out)
}

func (c *caller) wantWaiting() {
	c.from.world.want(!c.answered, "%v waits; it was told %+v", c, c.out)
}

// calmTime is how long a world may take to come to rest once nothing goes wrong any more: a lease that nobody
// can release, an orphan, a poll and some.
const settleTime = 2 * time.Minute

// settle lets everything go well from here on, everybody unlock what it gets, and time pass, until nothing is left
// to happen. Then nothing may be left at all.
func (w *world) settle() {
	for end := w.now + settleTime; w.now < end; {
		if w.stir() {
			continue
		}
		at, who, entry := w.nextAlarm()
		for _, p := range w.procs {
			for _, c := range p.callers {
				if !c.answered && !c.gone && c.waiter.Until != 0 {
					at = min(at, p.real(c.waiter.Until+waitTick))
				}
			}
		}
		if at == Never {
			break
		}
		w.passTo(max(at, w.now))
		if who != nil && who.entries[entry.Name] == entry && entry.Machine.NextAlarm() <= who.now() {
			who.wake(entry)
		}
		for _, p := range w.procs {
			p.ring()
		}
	}
	w.pass(time.Minute) // keys of those who died without a word
	w.checkQuiet()
}

// stir does one thing that is waiting to be done. False: nothing is.
func (w *world) stir() bool {
	for _, p := range w.procs {
		switch {
		case len(p.outbox) > 0:
			w.pass(time.Millisecond)
			p.outbox[0].answer()
		case len(p.wishes) > 0:
			p.subscribe()
		case len(p.messages) > 0:
			p.listen()
		default:
			if !p.unlockOne() {
				continue
			}
		}
		return true
	}
	return false
}

func (p *process) unlockOne() bool {
	for _, c := range p.callers {
		if c.holds() {
			c.unlock()
			return true
		}
	}
	return false
}
