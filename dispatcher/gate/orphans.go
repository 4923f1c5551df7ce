package gate

import (
	"slices"

	"github.com/wheellock/wheellock/scripts"
)

// orphan is an owner id that may appear in Redis although nobody wants it, or a foreign one that is to be
// freed: it is released at its time, once no other command is in flight.
type orphan struct {
	owner string // not one of ours; else empty
	id    uint64
	op    Op // how it is released
	tries retries
	at    Time
	late  Time // when it is released once more, because it may appear until then; 0: once is enough
	ends  Time // when its key has surely run out
	ack   Settler
}

// orphans are those of one name.
type orphans []orphan

func (os *orphans) add(g orphan) { *os = append(*os, g) }

// due is an orphan that is to be released now; nil: there is none.
func (os orphans) due(now Time) *orphan {
	for i := range os {
		if now >= os[i].at {
			return &os[i]
		}
	}
	return nil
}

// of is where the orphan of an owner of ours stands; -1: there is none.
func (os orphans) of(id uint64) int {
	return slices.IndexFunc(os, func(g orphan) bool { return g.id == id })
}

// take takes the orphan of an owner of ours away.
func (os *orphans) take(id uint64) (orphan, bool) {
	i := os.of(id)
	if i < 0 {
		return orphan{}, false
	}
	g := (*os)[i]
	*os = slices.Delete(*os, i, i+1)
	return g, true
}

// nextAlarm is when the first of them is due.
func (os orphans) nextAlarm() Time {
	at := Never
	for _, g := range os {
		at = min(at, g.at)
	}
	return at
}

// settleAll answers the callers that wait for a release that will get no more answers.
func (os *orphans) settleAll(out Outcome) {
	for i := range *os {
		settle((*os)[i].ack, out)
		(*os)[i].ack = nil
	}
}

// hurry has those released at once that were released in vain.
func (os orphans) hurry(now Time) {
	for i := range os {
		if g := &os[i]; g.tries > 0 {
			g.at, g.tries = min(g.at, now), 0
		}
	}
}

// answered settles an orphan, or puts it off when its release proved nothing.
func (os *orphans) answered(now Time, c *Command) {
	for i, g := range *os {
		if g.id != c.ID || g.owner != c.Args.Release().Owner || g.op != c.Op {
			continue
		}
		out := orphanOutcome(c)
		if out.Why != Granted && out.Why != Lost && g.ack == nil && now < g.ends {
			(*os)[i].at = now + (*os)[i].tries.next(g.id)
			return
		}
		if c.Sent < g.late {
			settle(g.ack, out)
			(*os)[i] = orphan{owner: g.owner, id: g.id, op: g.op, at: g.late, ends: g.ends}
			return
		}
		*os = slices.Delete(*os, i, i+1)
		settle(g.ack, out)
		return
	}
}

func orphanOutcome(c *Command) Outcome {
	switch {
	case c.Result == Answered && freed(c.Reply):
		return Outcome{}
	case c.Result == Answered && c.Reply == scripts.NotMine:
		return Outcome{Why: Lost}
	}
	return unprovedOutcome(c)
}
