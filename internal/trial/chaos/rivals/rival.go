package rivals

import (
	"context"
	"time"
)

// A rival is a lock library, connected to one Redis. Any goroutine may call it.
type rival interface {
	// lock waits for the name. ctx must live as long as the hold: for some libraries it is the hold's too.
	lock(ctx context.Context, name string) (hold, error)
	// try asks once.
	try(ctx context.Context, name string) (hold, error)
	// key is the name's key in Redis.
	key(name string) string
	close()
}

// A hold is a lock that was granted.
type hold struct {
	lost   <-chan struct{} // closed when its holder is told that it holds no more
	unlock func(context.Context) error
}

// A login is a way to one Redis.
type login struct {
	addr           string
	user, password string        // may be empty
	lease          time.Duration // the same for all
}

// An entry is a rival in the list.
type entry struct {
	name     string
	settings string // what was set, other than the lease
	promise  string // what its documentation says about faults
	rows     []row  // where it takes part; nil: everywhere
	open     func(login) (rival, error)
}

// A row is one fault.
type row int

const (
	cancels row = iota
	cuts
	partitions
	deletes
	strands
)
