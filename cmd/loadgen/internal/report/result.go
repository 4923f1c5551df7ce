package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// Format is the number of the JSON form. It changes when a name in it changes its meaning or goes.
const Format = 1

// Result is the whole account of a run. Its JSON names are an interface. A null means: not known, or there
// was nothing to measure it by.
type Result struct {
	Format     int       `json:"format"`
	Title      string    `json:"title"` // that the user gave it; empty: none
	Started    time.Time `json:"started"`
	Machine    Machine   `json:"machine"`
	Server     Server    `json:"server"`
	Plan       load.Plan `json:"plan"`
	EndedEarly bool      `json:"ended_early"`

	Seconds        float64  `json:"seconds"` // measured, without warm-up and drain
	Pairs          int64    `json:"pairs"`
	PairsPerSecond *float64 `json:"pairs_per_s"`

	ReadersPerSecond *float64 `json:"readers_pairs_per_s"` // their part of it; null: not of a read-write lock
	WritersPerSecond *float64 `json:"writers_pairs_per_s"`

	Schedule *Schedule `json:"schedule"` // null: a closed loop

	Latency  Latencies    `json:"latency"`
	Fairness Fairnesses   `json:"fairness"`
	Engine   EngineCounts `json:"engine"`
	Redis    RedisCosts   `json:"redis"`
	Client   ClientCosts  `json:"client"`
	Calls    Calls        `json:"calls"`
	Checks   Checks       `json:"checks"`

	PerSecond []Second  `json:"per_second"`
	Steps     []Step    `json:"steps"` // of a load that grows
	Processes []Process `json:"processes"`

	OK       bool     `json:"ok"`
	Problems []string `json:"problems"` // what is wrong, when it is not OK
}

// Machine is where the load ran.
type Machine struct {
	Go   string `json:"go"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
}

// Server is what it ran against.
type Server struct {
	Kind    target.Kind `json:"kind"`
	Place   string      `json:"place"`
	Product string      `json:"product,omitempty"` // such as Valkey
	Version string      `json:"version"`
	Meaning string      `json:"meaning"` // for the figures
}

// String is "given Redis 7.0.15".
func (s *Server) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", s.Kind, cmp.Or(s.Product, "Redis"), s.Version))
}

// Latencies are in microseconds. Null: there were none.
type Latencies struct {
	Acquire  *Latency `json:"acquire"`   // from the call (open loop: from when it was due) to the hold
	Readers  *Latency `json:"readers"`   // acquire, of the readers of a read-write lock
	Writers  *Latency `json:"writers"`   // acquire, of its writers
	Handover *Latency `json:"handover"`  // from Unlock to the hold of a waiter of the same process
	Across   *Latency `json:"across"`    // the same, in another process
	StartLag *Latency `json:"start_lag"` // open loop: from when a call was due to the call
	Check    *Latency `json:"check"`     // what a check in Redis adds to its critical section

	Overtaken *Latency `json:"overtaken"` // fair locks: how much later a caller had asked that was served before
}

// Latency is a distribution.
type Latency struct {
	Count int64             `json:"count"`
	Mean  float64           `json:"mean_us"`
	P50   float64           `json:"p50_us"`
	P90   float64           `json:"p90_us"`
	P99   float64           `json:"p99_us"`
	P999  float64           `json:"p999_us"`
	Max   float64           `json:"max_us"`
	HDR   figures.Histogram `json:"hdr"` // all of it, in nanoseconds
}

// Fairnesses say how evenly the pairs were spread. Null: there is only one, or (workers of an open loop,
// which take the call that is due) it means nothing.
type Fairnesses struct {
	Workers   *Fairness `json:"workers"`
	Processes *Fairness `json:"processes"`
}

// Fairness is Jain's index, (Σx)²/(n·Σx²): 1 when all have the same, 1/n when one has everything.
type Fairness struct {
	Jain  float64 `json:"jain"`
	Of    int     `json:"of"`    // n: how many callers, or processes
	Least int64   `json:"least"` // pairs of the one with the fewest
	Most  int64   `json:"most"`

	LeastShare float64 `json:"least_share"` // of all pairs
	MostShare  float64 `json:"most_share"`
}

// EngineCounts are the engine's own counters.
type EngineCounts struct {
	load.Engine
	AttemptsPerGrant *float64 `json:"attempts_per_grant"` // acquires sent to Redis
	HandoffShare     *float64 `json:"handoff_share"`      // grants that did not ask Redis
}

// RedisCosts are of the server: all that it did, for whomever, without what the checks asked of it.
type RedisCosts struct {
	Known           bool             `json:"known"`
	CommandsPerPair *float64         `json:"commands_per_pair"` // also those inside scripts
	ScriptsPerPair  *float64         `json:"scripts_per_pair"`  // EVALSHA calls, each for one name or many
	CPUPerPair      *float64         `json:"cpu_us_per_pair"`   // with the checks: their part cannot be told apart
	Across          AcrossCosts      `json:"across"`
	CheckCommands   int64            `json:"check_commands"` // left out of the above
	CheckShare      *float64         `json:"check_share"`    // of all commands
	Commands        map[string]int64 `json:"commands"`
}

// AcrossCosts are all costs of the server for each hand-over to a waiter in another process. Null: there was none.
type AcrossCosts struct {
	Commands *float64 `json:"commands_per_handover"`
	Scripts  *float64 `json:"scripts_per_handover"`
	Messages *float64 `json:"messages_per_handover"` // published
}

// ClientCosts are of all processes together, the load itself included.
type ClientCosts struct {
	CPUPerPair    *float64 `json:"cpu_us_per_pair"`
	AllocsPerPair *float64 `json:"allocs_per_pair"`
	BytesPerPair  *float64 `json:"bytes_per_pair"`
	Goroutines    int64    `json:"goroutines"` // the most there were, once a second
}

// Calls are what became of calls that did not end as a pair, and how an open loop kept its schedule.
type Calls struct {
	Timeouts   int64            `json:"timeouts"`
	Failed     int64            `json:"failed"`
	Errors     map[string]int64 `json:"errors"`
	Overstayed int64            `json:"overstayed"` // sections whose lease ended before they did
	Late       int64            `json:"late"`
	NotStarted int64            `json:"not_started"` // were due at the end, and had not begun
	GivenUp    int64            `json:"given_up"`    // still waited for names in use when the run ended
}

// Checks are the proof that the lock locked. Violations count from the first moment to the last.
type Checks struct {
	Sections     int64 `json:"sections"`      // checked in memory while measured
	SharedMemory bool  `json:"shared_memory"` // the memory is that of all processes
	InRedis      int64 `json:"in_redis"`      // of these, also checked in Redis
	NoVerdict    int64 `json:"no_verdict"`    // of these, how many proved nothing
	load.Breaches
	KeysLeft     []string `json:"keys_left"`
	PermitsWrong []string `json:"permits_wrong"` // semaphores that have not all their permits back
	Stranded     []string `json:"stranded"`      // names, one entry for each waiter
	Stuck        int64    `json:"stuck"`         // calls that did not come back
}

// Step is what one step of a load that grows did. End is when it ended in the measured time.
type Step struct {
	Callers  int       `json:"callers"`
	Schedule *Schedule `json:"schedule"` // null: a closed loop, in which callers grow
	Second
}

// Load is what grows from step to step: how many callers there are, or calls a second.
func (s *Step) Load() float64 {
	if s.Schedule != nil {
		return s.Schedule.Asked
	}
	return float64(s.Callers)
}

// Name is that of a step, and Words say it: "8" and "8 callers", or "1,000/s" and "1,000 calls/s".
func (s *Step) Name() string {
	if s.Schedule != nil {
		return figures.Three(s.Schedule.Asked) + "/s"
	}
	return fmt.Sprint(s.Callers)
}

// Words see Name.
func (s *Step) Words() string {
	if s.Schedule != nil {
		return figures.Three(s.Schedule.Asked) + " calls/s"
	}
	return figures.Number(int64(s.Callers), "caller")
}

// Process is one process of the run.
type Process struct {
	Pairs int64  `json:"pairs"`
	Died  string `json:"died,omitempty"` // why it did not last to the end
}

// Second is one interval of the measured time; the last may be shorter than a second. Its latencies are null if nobody waited so.
type Second struct {
	End            float64  `json:"end_s"`       // since the measuring began
	PairsPerSecond float64  `json:"pairs_per_s"` // also of an interval shorter than a second
	AcquireP50     *float64 `json:"acquire_p50_us"`
	AcquireP99     *float64 `json:"acquire_p99_us"`
	AcquireMax     *float64 `json:"acquire_max_us"`
	HandoverP50    *float64 `json:"handover_p50_us"`
	HandoverP99    *float64 `json:"handover_p99_us"`
	HandoffShare   *float64 `json:"handoff_share"` // 0 to 1
	Waiting        int64    `json:"waiting"`       // at End
	Backlog        int64    `json:"backlog"`       // at End: calls due and not begun
	Failed         int64    `json:"failed"`        // in the interval
}
