// Package leaders connects package elect with package engine, without a method that users of the engine would see.
package leaders

import (
	"context"
	"time"
)

// Note is what stands in Redis about the leader of an election.
type Note struct {
	Owner    string    // of the lock; Ask does not tell it
	Term     int64     // the fencing token; 0: nobody leads
	Identity string    // in a note to be written, empty: the term is over
	Since    time.Time // by the server's clock, which Ask tells
}

// What package engine sets. engine is an *engine.Engine, name the name of a fenced mutex.
var (
	// Ask returns the leader. With a note it first writes the note, if its owner has the lock. passes: the reason of the
	// error can pass by itself.
	Ask func(ctx context.Context, engine any, name string, note *Note) (leader Note, passes bool, err error)
	// Listen calls notify, which must not block, when it has begun to listen for new leaders, and whenever there is one. It
	// returns when the subscription has ended, or with ctx. passes: the reason of a refusal can pass by itself.
	Listen func(ctx context.Context, engine any, name string, notify func()) (passes bool, err error)
)
