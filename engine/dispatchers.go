package engine

import (
	"crypto/aes"
	"crypto/rand"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/wire"
	"github.com/wheellock/wheellock/scripts"
)

// dispatchers are those of an engine. Each serves the names of a share of the hash slots, for as long as the engine lives, with
// connections, subscribers, deadlines and counters of its own (invariant: one-command-per-name).
//
// A share is a range, as what a master of a cluster usually serves is. So a dispatcher is connected to few masters, and its
// batches to each of them are as large as they can be. Were every n-th hash slot its share, it would be connected to all.
type dispatchers []*dispatcher.Dispatcher

const (
	maxDispatchers = 64
	// numberBits is how many bits of an owner id's number count; those above say which dispatcher has made it. A dispatcher that
	// makes a million ids a second has enough for four years. All together have 53: Lua calculates with such numbers.
	numberBits = 47
)

// dispatcherConfig is what the i-th dispatcher needs.
func (e *Engine) dispatcherConfig(i int) dispatcher.Config {
	o := &e.opts
	cfg := dispatcher.Config{
		Client: e.client, Clock: e.clock, Waker: e.waker, Logger: o.Logger, Outages: &e.outages, MaxPerName: o.MaxWaitersPerName,
		Connections: redisconn.Config{
			Settings:  wire.Settings{UUID: e.uuid, Salt: e.salt, Publish: o.PubSub.publish(), FenceTTL: o.FenceTTL, FairWaiterLease: o.FairWaiterLease, Declared: o.DeclaredKeysOnly},
			WatchLoss: o.WatchLoss, ProbeTime: o.Lease / 3, Replicas: o.Replicas, ReplicaTime: e.replicaTime, Fsync: o.Fsync,
		},
		Gate: &gate.Config{
			UUID: e.uuid, Salt: e.salt, LastID: uint64(i) << numberBits, Code: giftCodes(o), FairWaiterLease: o.FairWaiterLease,
			Lease: o.Lease, HandoffTime: max(o.HandoffTime, 0), PollCap: o.PollCap, MaxHold: o.MaxHold, Stats: &new(counters).Stats,
		},
	}
	if e.clusters != nil {
		cfg.Cluster = e.clusters[i]
	}
	return cfg
}

// share returns the first and the last hash slot of the i-th of n dispatchers.
func share(i, n int) (first, last uint16) {
	begin := func(i int) int { return (i*scripts.HashSlots + n - 1) / n }
	return uint16(begin(i)), uint16(begin(i+1) - 1)
}

// index returns which of them serves a key: "a" and "{a}", which have the same derived keys, are served by the same one, also
// where braces are odd, as in "a}b" and "{a}b}".
func (ds dispatchers) index(key string) uint8 {
	if len(ds) == 1 {
		return 0
	}
	if strings.IndexByte(key, '}') >= 0 && strings.IndexByte(key, '{') < 0 {
		key = scripts.Alias(key)
	}
	return uint8(int(scripts.HashSlot(key)) * len(ds) / scripts.HashSlots)
}

// of returns the one that serves a key.
func (ds dispatchers) of(key string) *dispatcher.Dispatcher { return ds[ds.index(key)] }

// dispatcher returns the one that has granted the hold.
func (h *Hold) dispatcher() *dispatcher.Dispatcher { return h.e.dispatchers[h.core.Tenure>>numberBits] }

// up reports whether all links work.
func (ds dispatchers) up() bool {
	return !slices.ContainsFunc(ds, func(d *dispatcher.Dispatcher) bool { return !d.Up() })
}

// oldest returns when the oldest living hold was granted, or gate.Never.
func (ds dispatchers) oldest() gate.Time {
	oldest := gate.Never
	for _, d := range ds {
		oldest = min(oldest, d.Oldest(""))
	}
	return oldest
}

// drain has all of them drain at the same time. Each closes a channel when it has no hold left.
func (ds dispatchers) drain() (drained []<-chan struct{}) {
	for _, d := range ds {
		drained = append(drained, d.Drain())
	}
	return drained
}

// close closes all of them at the same time, and returns when all have ended.
func (ds dispatchers) close() {
	var all sync.WaitGroup
	for _, d := range ds {
		all.Go(d.Close)
	}
	all.Wait()
}

// counters are those of one dispatcher, which writes them for every lock, on a cache line of their own.
type counters struct {
	gate.Stats
	_ [64]byte
}

// giftCodes are the codes by which a dispatcher knows that a release has given it a lock. They are enciphered numbers under a key of the
// dispatcher's own, so that only a reader of lines and claims can know one. nil: no message gives anything, for what the engine is given
// must be on replicas or on a disk first.
func giftCodes(o *Options) func(n uint64) int64 {
	if o.Replicas != 0 || o.Fsync > 0 {
		return nil
	}
	var key, block [aes.BlockSize]byte
	rand.Read(key[:])                  // never fails
	cipher, _ := aes.NewCipher(key[:]) // nor does this with a key of that length
	return func(n uint64) int64 {
		binary.BigEndian.PutUint64(block[8:], n)
		clear(block[:8])
		cipher.Encrypt(block[:], block[:])
		return int64(binary.BigEndian.Uint64(block[:])>>2 | 1<<61) // positive, and no number of Redisson's
	}
}
