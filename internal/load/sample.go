package load

import (
	"slices"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit/figures"
	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// Phase is a part of a run.
type Phase string

// The phases, in their order. Only what is measured counts for the figures; a violation counts in each.
const (
	WarmUp   Phase = "warm-up"
	Measured Phase = "measured"
	Drain    Phase = "drain" // no new calls; those under way end
)

// Before reports whether a phase is earlier than another.
func (p Phase) Before(o Phase) bool {
	order := []Phase{WarmUp, Measured, Drain}
	return slices.Index(order, p) < slices.Index(order, o)
}

// Counts are what callers did.
type Counts struct {
	Pairs       int64 `json:"pairs"`       // locked and unlocked
	Reads       int64 `json:"reads"`       // of these, by readers of a read-write lock
	Handovers   int64 `json:"handovers"`   // of these, after one of another caller
	Timeouts    int64 `json:"timeouts"`    // calls that gave up after --wait
	Failed      int64 `json:"failed"`      // calls that ended in any other error
	Overstayed  int64 `json:"overstayed"`  // sections whose hold ended before they did
	Late        int64 `json:"late"`        // open loop: calls begun over LateAfter after they were due
	Lost        int64 `json:"lost"`        // waits that had to be begun again (alternate.go)
	Sections    int64 `json:"sections"`    // checked in memory: all that were entered
	Witnessed   int64 `json:"witnessed"`   // of these, also checked in Redis
	Unwitnessed int64 `json:"unwitnessed"` // checks in Redis that gave no verdict
	Breaches
}

// Breaches are what broke the promise of a kind.
type Breaches struct {
	Violations  int64 `json:"violations"`    // two inside at once, or too many, found in memory
	SeenInRedis int64 `json:"seen_by_redis"` // the same, found by the counter in Redis
	Early       int64 `json:"early"`         // latches passed before they were opened
	TokensBack  int64 `json:"tokens_back"`   // fencing tokens not larger than one before
	Disordered  int64 `json:"disordered"`    // fair locks given long out of turn
}

// Broken is how often the promise of a kind was found broken.
func (b *Breaches) Broken() int64 {
	return b.Violations + b.SeenInRedis + b.Early + b.TokensBack + b.Disordered
}

// Times are the durations that are recorded.
type Times struct {
	Acquire  figures.Histogram `json:"acquire"`   // from the call, in an open loop from when it was due, to the hold
	Readers  figures.Histogram `json:"readers"`   // acquire, of the readers of a read-write lock
	Writers  figures.Histogram `json:"writers"`   // acquire, of its writers
	Handover figures.Histogram `json:"handover"`  // from Unlock to the hold of a waiter of the same process
	Across   figures.Histogram `json:"across"`    // the same, from one process to another
	StartLag figures.Histogram `json:"start_lag"` // open loop: from when a call was due to the call
	Check    figures.Histogram `json:"check"`     // what a check in Redis adds to its section

	Overtaken figures.Histogram `json:"overtaken"` // fair locks: how much later a caller had asked that was served before
}

func (t *Times) reset() {
	for _, h := range []*figures.Histogram{&t.Acquire, &t.Readers, &t.Writers, &t.Handover, &t.Across, &t.StartLag, &t.Check, &t.Overtaken} {
		h.Reset()
	}
}

// Engine is what the engine counted: the counters of engine.Stats.
type Engine struct {
	Granted    int64 `json:"granted"`
	Handoffs   int64 `json:"handoffs"`
	Attempts   int64 `json:"attempts"`
	Waits      int64 `json:"waits"`
	Lost       int64 `json:"lost"`
	Refused    int64 `json:"refused"`
	Uncertain  int64 `json:"uncertain"`
	Batches    int64 `json:"batches"`
	Overflowed int64 `json:"overflowed"`
}

func engineCounts(s *engine.Stats) Engine {
	return Engine{s.Granted, s.Handoffs, s.Attempts, s.Waits, s.Lost, s.Refused, s.Uncertain, s.Batches, s.Overflowed}
}

// Sample is what one process did since its sample before. Samples of the same interval can be added up over
// processes, and samples of one process over time.
type Sample struct {
	Process int              `json:"process"`
	Phase   Phase            `json:"phase"`
	Step    int              `json:"step,omitempty"` // of the measured time
	Elapsed time.Duration    `json:"elapsed_ns"`
	Last    bool             `json:"last,omitempty"` // of its phase
	Counts  Counts           `json:"counts"`
	Times   Times            `json:"times"`
	Engine  Engine           `json:"engine"`
	Usage   usage.Usage      `json:"usage"`            // MaxRSS is that since the process began
	Errors  map[string]int64 `json:"errors,omitempty"` // failed calls by what their errors say

	// At the end of the interval.
	Waiting    int64 `json:"waiting"` // callers that wait for a lock
	Backlog    int64 `json:"backlog"` // open loop: calls due and not begun
	Goroutines int64 `json:"goroutines"`

	Callers []int64 `json:"callers,omitempty"` // in the last sample of a phase: pairs of each caller in all of it
	Ending  *Ending `json:"ending,omitempty"`  // in the last sample of the process
}

// Ending is how the run of one process ended.
type Ending struct {
	GivenUp  int64    `json:"given_up"` // calls that still waited for names in use, and were abandoned
	Stranded []string `json:"stranded"` // names that were free, and still somebody waited, one entry for each waiter
	Stuck    int64    `json:"stuck"`    // calls that did not come back, although they were cancelled
	Down     bool     `json:"down"`     // Redis could not be reached, so that nobody knows
}

// Add puts what o says into s. along: o comes after s, in the same process, or is a sum like s; else it is
// of the same interval, in another process, and s is the last of its phase only if both are.
func (s *Sample) Add(o *Sample, along bool) {
	figures.Add(&s.Counts, &o.Counts)
	figures.Add(&s.Times, &o.Times)
	figures.Add(&s.Engine, &o.Engine)
	most := max(s.Usage.MaxRSS, o.Usage.MaxRSS)
	figures.Add(&s.Usage, &o.Usage)
	for text, n := range o.Errors {
		if s.Errors == nil {
			s.Errors = make(map[string]int64)
		}
		s.Errors[text] += n
	}
	s.Callers = append(s.Callers, o.Callers...)
	if along {
		s.Usage.MaxRSS = most
		s.Last = s.Last || o.Last
		s.Elapsed += o.Elapsed
		s.Waiting, s.Backlog = o.Waiting, o.Backlog
		s.Goroutines = max(s.Goroutines, o.Goroutines)
		return
	}
	s.Last = s.Last && o.Last
	s.Elapsed = max(s.Elapsed, o.Elapsed)
	s.Waiting += o.Waiting
	s.Backlog += o.Backlog
	s.Goroutines += o.Goroutines
}
