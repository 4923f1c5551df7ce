// Package elect elects a leader among processes, on the fencing tokens of package engine.
//
//	election := elect.New(e, "scheduler", elect.Options{})
//	err := election.Run(ctx, func(ctx context.Context, term int64) error {
//		... // this process leads until ctx ends
//		return ctx.Err()
//	})
//
// Terms: each leader has a term, the fencing token of the [engine.Engine.FencedMutex] of the election's name. Terms grow
// for ever, from leader to leader, also if Redis lost its data. Send the term with every write, and have the store
// refuse terms that are lower than the highest it has seen.
//
// One leader: the context of lead ends before anybody else can lead. Its Err compares clocks, so that holds for a
// process that was suspended, too. A leader has two locks, the mutex and a second one, name + ":leading". So it also
// holds if somebody deletes the key of the mutex, or frees it by ForceUnlock: the old leader notices within a third of
// the lease, and only then gives back the second lock, which the next leader waits for. What no lock on Redis can
// promise is in docs/GUARANTEES.md.
//
// [Election.Leader] and [Election.Observe] return the leader, also to processes that never call Run. The leader is noted
// in a key beside the mutex's, in the same hash slot. The note counts only while its writer has the mutex.
//
// Everything works on a single server, with Sentinel, and in a Redis Cluster.
package elect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/internal/leaders"
)

var (
	// ErrNoLeader means that nobody leads at present.
	ErrNoLeader = errors.New("wheellock: nobody leads")
	// ErrResigned is the cause of the end of lead's context after [Election.Resign].
	ErrResigned = errors.New("wheellock: resigned")
)

// Options say how an [Election] works. The zero value works.
type Options struct {
	// Identity is the name of this process in [Leader]: 1 to 1,024 bytes of any content. Default
	// "program@host:pid".
	Identity string
	// Lease is how long Redis keeps the leadership of a process that died. It is renewed every third of it. Whole
	// milliseconds, 100ms to 30 days. Default: that of the engine.
	Lease time.Duration
	// Logger gets a record whenever this process begins or ceases to lead, and of an error after which it campaigns again. That a
	// campaign waits for a Redis which is away, or refuses writes, the Logger of the engine gets. Default nil: no records.
	Logger *slog.Logger
}

// withDefaults fills in what is zero and reports every complaint at once.
func (o Options) withDefaults() (Options, error) {
	var complaints []error
	if o.Identity == "" {
		host, _ := os.Hostname()
		o.Identity = fmt.Sprintf("%s@%s:%d", filepath.Base(os.Args[0]), host, os.Getpid())
	}
	if len(o.Identity) > maxIdentity {
		complaints = append(complaints, invalid("Identity has %d bytes: at most %d", len(o.Identity), maxIdentity))
	}
	if o.Lease != 0 && (o.Lease < minLease || o.Lease > engine.MaxLease) {
		complaints = append(complaints, invalid("Lease %v: must be from %v to %v", o.Lease, minLease, engine.MaxLease))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, errors.Join(complaints...)
}

const (
	maxIdentity = 1024
	maxName     = 1014                   // a name of the engine has 1,024, and the second lock's is longer by 10
	minLease    = 100 * time.Millisecond // as Options.Lease of the engine
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{engine.ErrInvalid}, args...)...)
}

// Election is one candidate for the leadership of a name, and a view of its leader. Any goroutine may use it. Making one
// costs nothing and sends nothing.
type Election struct {
	e     *engine.Engine
	name  string
	opts  Options
	wrong error // what is invalid; every call fails with it

	mu      sync.Mutex // guards the rest
	running bool       // Run has been called and has not returned
	term    *term      // that this process leads; nil: none
}

// New returns an election of a name. A name has 1 to 1,014 bytes of any content, within the engine's rules. Do not use the FencedMutex of this name for anything
// else, nor "x" beside "{x}": only one of these two has a leader at a time. What is invalid about name and opts is the error of the calls, as [engine.ErrInvalid].
func New(e *engine.Engine, name string, opts Options) *Election {
	opts, wrong := opts.withDefaults()
	if e == nil {
		wrong = errors.Join(invalid("the engine is nil"), wrong)
	}
	if len(name) == 0 || len(name) > maxName {
		wrong = errors.Join(invalid("the name has %d bytes: must be from 1 to %d", len(name), maxName), wrong)
	}
	return &Election{e: e, name: name, opts: opts, wrong: wrong}
}

// String names the election.
func (e *Election) String() string { return fmt.Sprintf("election %q", e.name) }

// Format is String for every verb. Without it fmt would look into what other goroutines write.
func (e *Election) Format(f fmt.State, _ rune) { fmt.Fprint(f, e.String()) }

// Leader is the process that leads.
type Leader struct {
	Term     int64     // the fencing token
	Identity string    // Options.Identity of the leader
	Since    time.Time // by the clock of the server
}

// Leader asks Redis for the leader. The error Is [ErrNoLeader] if there is none; else it is of the group
// [engine.ErrUnavailable], [engine.ErrForeignKey], [engine.ErrInvalid] or [engine.ErrClosed]. If ctx has no deadline,
// Leader waits for the answer for AnswerTimeout of the engine.
//
// A process leads from a moment before its lead is called until the context of lead has ended and the name is free.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	leader, _, err := e.ask(ctx, nil)
	return leader, err
}

// Deadline returns when the leadership of this process ends unless it is renewed, as [engine.Hold.Deadline] does; zero if it does not
// lead. It asks nobody.
func (e *Election) Deadline() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term == nil {
		return time.Time{}
	}
	return slices.MinFunc([]time.Time{e.term.mutex.Deadline(), e.term.second.Deadline()}, time.Time.Compare)
}

// ask asks Redis for the leader. If note is not nil, it is written first.
func (e *Election) ask(ctx context.Context, note *leaders.Note) (leader Leader, passes bool, err error) {
	if e.wrong != nil {
		return Leader{}, false, e.failed(e.wrong)
	}
	l, passes, err := leaders.Ask(ctx, e.e, e.name, note)
	switch {
	case err != nil:
		return Leader{}, passes, err
	case l.Term == 0:
		return Leader{}, false, e.failed(ErrNoLeader)
	}
	return Leader{Term: l.Term, Identity: l.Identity, Since: l.Since}, false, nil
}

// failed says which election an error is about.
func (e *Election) failed(err error) error {
	return &electionError{e.name, err}
}

// electionError is formatted only when it is read: ErrNoLeader may be frequent.
type electionError struct {
	name string
	err  error
}

func (e *electionError) Error() string {
	return fmt.Sprintf("wheellock: election %.64q: %s", e.name, strings.TrimPrefix(e.err.Error(), "wheellock: "))
}

func (e *electionError) Unwrap() error { return e.err }
