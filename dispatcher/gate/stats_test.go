package gate

import "fmt"

// tally counts what happens to one engine, as its callers and Redis see it. Its Stats must say the same.
type tally struct {
	granted, attempts, waits, refused, lost, uncertain int64

	question uint64 // the number of the last question about a name without owners, which is sent again under it
}

// questions are the operations by which a waiter asks Redis.
var questions = [Ops]bool{
	Acquire: true, AcquireInLine: true, AcquireFenced: true, AcquireRead: true, AcquireWrite: true, AcquireWriteInLine: true, ConfirmRead: true, FairAsk: true, AcquireSimple: true, AcquireSimpleInLine: true,
	Take: true, PermitTake: true, GetCount: true, Adopt: true,
}

// sent is a command that was asked for.
func (y *tally) sent(c *Command) {
	switch {
	case !questions[c.Op] || c.Op == FairAsk && c.ID == 0: // the latter only says that the engine lives
	case (c.Op == Take || c.Op == PermitTake || c.Op == GetCount) && c.ID == y.question:
	case c.Op == Take && c.Args.Take().Runs == "" || c.leavesLine(): // it asks for nothing
		y.question = c.ID
	default:
		y.attempts++
		y.question = c.ID
	}
}

// back is a command that comes back.
func (y *tally) back(c *Command) {
	if c.Result == Unknown {
		y.uncertain++
	}
	if _, held := c.Reply.Held(); held && c.Result == Answered && questions[c.Op] && c.Op != Adopt && (c.Op != FairAsk || c.ID != 0) {
		y.waits++
	}
}

// told is an answer to a waiter.
func (y *tally) told(out Outcome, accepted bool) {
	switch out.Why {
	case Granted:
		if accepted {
			y.granted++
		}
	case Refused, Foreign, Overloaded:
		y.refused++
	}
}

// compare answers how the Stats differ; empty: they do not. waits: whether these are counted as here.
func (y *tally) compare(s *Stats, waits bool) string {
	stats := tally{granted: s.Granted.Load(), attempts: s.Attempts.Load(), refused: s.Refused.Load(), lost: s.Lost.Load(), uncertain: s.Uncertain.Load()}
	want := *y
	want.question = 0
	if stats.waits = want.waits; waits {
		stats.waits = s.Waits.Load()
	}
	if stats != want {
		return fmt.Sprintf("the Stats say %+v; there were %+v", stats, want)
	}
	return ""
}
