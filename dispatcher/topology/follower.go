package topology

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// ErrSwitched is the end of a connection to a server that is not the master any more.
var ErrSwitched = errors.New("another server is the master, or may be")

// MasterOf returns the address of the server that a client talks to, if the address can change: with Sentinel. Else it
// returns nothing.
func MasterOf(client rueidis.Client) string {
	if client.Mode() == rueidis.ClientModeSentinel {
		return ServerOf(client)
	}
	return ""
}

// ServerOf returns the address of the server that a client of one server talks to.
func ServerOf(client rueidis.Client) string {
	for addr := range client.Nodes() {
		return addr
	}
	return ""
}

// Follower notices that the sentinels have made another server the master. The client follows by itself and tells
// nobody: calls that are under way break, but a connection that only listens does not break while the old master lives,
// and holds that the new master does not know would learn of the change only by their next renewal.
type Follower struct {
	stop    func()
	stopped chan struct{}
}

// followEvery is how often the follower looks. Looking costs no network.
const followEvery = 250 * time.Millisecond

// Follow starts a follower, which calls switched each time another server is the master; switched must not block. Where
// the master cannot change there is nothing to follow, and Follow returns nil.
func Follow(client rueidis.Client, switched func()) *Follower {
	if client.Mode() != rueidis.ClientModeSentinel {
		return nil
	}
	halt := make(chan struct{})
	f := &Follower{stop: sync.OnceFunc(func() { close(halt) }), stopped: make(chan struct{})}
	go f.run(client, MasterOf(client), halt, switched)
	return f
}

func (f *Follower) run(client rueidis.Client, master string, halt <-chan struct{}, switched func()) {
	defer close(f.stopped)
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-halt:
			return
		case <-tick.C:
		}
		if at := MasterOf(client); at != master {
			master = at
			switched()
		}
	}
}

// Close ends the follower and waits for its goroutine. A nil Follower needs no Close, but allows it.
func (f *Follower) Close() {
	if f != nil {
		f.stop()
		<-f.stopped
	}
}

// AtSentinel reports whether a client is connected to a Sentinel in place of a server, and returns the names of the masters that it knows.
func AtSentinel(ctx context.Context, client rueidis.Client) (masters []string, is bool) {
	role, err := client.Do(ctx, client.B().Role().Build()).ToArray()
	if err != nil || len(role) != 2 {
		return nil, false
	}
	if name, _ := role[0].ToString(); name != "sentinel" {
		return nil, false
	}
	masters, _ = role[1].AsStrSlice()
	return masters, true
}
