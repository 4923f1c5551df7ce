package engine

import (
	"crypto/aes"
	"crypto/cipher"
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
			UUID: e.uuid, Salt: e.salt, Codes: newGiftCodes(), Doubts: o.Replicas != 0 || o.Fsync > 0, FairWaiterLease: o.FairWaiterLease,
			LeaseTime: o.Lease, HandoffTime: max(o.HandoffTime, 0), PollCap: o.PollCap, MaxHold: o.MaxHold, Stats: &new(counters).Stats,
		},
	}
}

// counters are those of the dispatcher, which writes them for every lock, on a cache line of their own.
type counters struct {
	gate.Stats
	_ [64]byte
}

// giftCodes are numbers of 60 bits, enciphered under a key of the engine's own, so that only a reader of lines and claims can know one: a Feistel
// network of 8 rounds, each an AES of one half.
type giftCodes struct {
	cipher cipher.Block
	block  [aes.BlockSize]byte
}

const (
	half   = 1<<30 - 1
	rounds = 8
)

func newGiftCodes() *giftCodes {
	c := &giftCodes{}
	rand.Read(c.block[:])                   // never fails
	c.cipher, _ = aes.NewCipher(c.block[:]) // nor does this with a key of that length
	return c
}

// mix is the function of a round.
func (c *giftCodes) mix(round, x uint64) uint64 {
	clear(c.block[:])
	binary.BigEndian.PutUint64(c.block[8:], round<<32|x)
	c.cipher.Encrypt(c.block[:], c.block[:])
	return binary.BigEndian.Uint64(c.block[:]) & half
}

// Code implements gate.Codes. It is no number of Redisson's.
func (c *giftCodes) Code(n uint64) int64 {
	left, right := n>>30&half, n&half
	for round := range uint64(rounds) {
		left, right = right, left^c.mix(round, right)
	}
	return int64(1<<61 | left<<30 | right)
}

// Number implements gate.Codes.
func (c *giftCodes) Number(code int64) uint64 {
	left, right := uint64(code)>>30&half, uint64(code)&half
	for round := range uint64(rounds) {
		left, right = right^c.mix(rounds-1-round, left), left
	}
	return left<<30 | right
}
