package gate

import (
	"slices"

	"github.com/wheellock/wheellock/scripts"
)

// orphan is an owner id that may appear in Redis although no caller wants it, or another owner that is to be freed by force. It is released
// at its time, when no other command is in flight.
type orphan struct {
	owner  string // the owner field, if it is not one of this engine; else empty
	id     uint64
	op     Op   // the operation that releases it
	inLine bool // it may have a place in line, or get one
	tries  retries
	at     Time // 0: at once
	late   Time // when it is released once more, because it may appear until then; 0: once is enough
	early  Time // it is released before its time no earlier than this
	ends   Time // when its TTL has surely run out
	ack    Settler
}

// orphans are those of one name.
type orphans []orphan

func (os *orphans) add(o orphan) { *os = append(*os, o) }

// due is an orphan that is to be released now; nil: there is none.
func (os orphans) due(now Time) *orphan {
	for i := range os {
		if now >= os[i].at {
			return &os[i]
		}
	}
	return nil
}

// leaveLine has those that may have a place in line released at once, besides at their time: a message in the inbox may have been for such a
// place, at which nobody waits. If the channel is flooded, each is released as often as a name is asked for. One with a release that failed has its
// pause.
func (os orphans) leaveLine(now Time) {
	for i := range os {
		if o := &os[i]; o.inLine && o.tries == 0 && o.at > now {
			o.late, o.at = max(o.late, o.at), min(o.at, max(now, o.early))
		}
	}
}

// inLine reports whether one of them may have a place in line.
func (os orphans) inLine() bool {
	return slices.ContainsFunc(os, func(o orphan) bool { return o.inLine })
}

// of is the index of the orphan with an owner number of this engine; -1: there is none.
func (os orphans) of(id uint64) int {
	return slices.IndexFunc(os, func(o orphan) bool { return o.id == id })
}

// take removes and returns the orphan with an owner number of this engine.
func (os *orphans) take(id uint64) (orphan, bool) {
	i := os.of(id)
	if i < 0 {
		return orphan{}, false
	}
	o := (*os)[i]
	*os = slices.Delete(*os, i, i+1)
	return o, true
}

// nextAlarm is when the first of them is due.
func (os orphans) nextAlarm() Time {
	at := Never
	for _, o := range os {
		at = min(at, o.at)
	}
	return at
}

// settleAll answers the callers that wait for a release, which will get no answer any more.
func (os *orphans) settleAll(out Outcome) {
	for i := range *os {
		settle((*os)[i].ack, out)
		(*os)[i].ack = nil
	}
}

// endPauses makes orphans with a failed release due at once.
func (os orphans) endPauses(now Time) {
	for i := range os {
		if o := &os[i]; o.tries > 0 {
			o.at, o.tries = min(o.at, now), 0
		}
	}
}

// answered handles the answer to the release of an orphan: it is gone, or due again after a pause.
func (os *orphans) answered(now Time, c *Command) {
	for i, o := range *os {
		if o.id != c.ID || o.owner != c.Args.Release().Owner || o.op != c.Op {
			continue
		}
		out := orphanOutcome(c)
		if out.Why != Granted && out.Why != Lost && now < o.ends {
			settle(o.ack, out)
			(*os)[i].ack, (*os)[i].at = nil, now+(*os)[i].tries.next(o.id)
			return
		}
		if o.inLine && c.Asking && now < o.ends { // the line is at the other node still
			o.late = max(o.late, now+placeTime)
		}
		if c.Sent < o.late {
			settle(o.ack, out)
			(*os)[i] = orphan{id: o.id, op: o.op, inLine: o.inLine, at: o.late, early: c.Sent + longestHeed, ends: o.ends}
			return
		}
		*os = slices.Delete(*os, i, i+1)
		settle(o.ack, out)
		return
	}
}

// orphanOutcome is the answer to the release of an orphan.
func orphanOutcome(c *Command) Outcome {
	switch {
	case c.Result == Answered && freed(c.Reply):
		return Outcome{}
	case c.Result == Answered && c.Reply == scripts.NotMine:
		return Outcome{Why: Lost}
	}
	return unprovedOutcome(c)
}
