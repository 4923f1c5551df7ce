package engine

import (
	"crypto/aes"
	"crypto/rand"
	"encoding/binary"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/wire"
)

// dispatcherConfig is what the dispatcher needs.
func (e *Engine) dispatcherConfig() dispatcher.Config {
	o := &e.opts
	return dispatcher.Config{
		Client: e.client, Cluster: e.cluster, Clock: e.clock, Logger: o.Logger, Down: e.endCutOff,
		Connections: redisconn.Config{
			Settings:  wire.Settings{UUID: e.uuid, Salt: e.salt, Publish: o.PubSub.publish(), FenceTTL: o.FenceTTL, FairWaiterLease: o.FairWaiterLease, Declared: o.DeclaredKeysOnly},
			WatchLoss: o.WatchLoss, ProbeTime: o.Lease / 3, Replicas: o.Replicas, ReplicaTime: e.replicaTime, Fsync: o.Fsync,
		},
		Gate: &gate.Config{
			UUID: e.uuid, Salt: e.salt, Code: giftCodes(o), FairWaiterLease: o.FairWaiterLease,
			LeaseTime: o.Lease, HandoffTime: max(o.HandoffTime, 0), PollCap: o.PollCap, MaxHold: o.MaxHold, Stats: &new(counters).Stats,
		},
	}
}

// counters are those of the dispatcher, which writes them for every lock, on a cache line of their own.
type counters struct {
	gate.Stats
	_ [64]byte
}

// giftCodes are the codes by which the dispatcher knows that a release has given it a lock. They are enciphered numbers under a key of the
// engine's own, so that only a reader of lines and claims can know one. nil: no message gives anything, for what the engine is given
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
