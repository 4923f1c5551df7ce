package engine

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
)

// claimCode makes the codes by which an engine knows that a release has given it a lock. Only who knows the engine's secret, which
// never leaves it, could make one up. nil: the engine has no claims, for what it is given must be on replicas or on a disk first.
func claimCode(o *Options) func(id uint64) int64 {
	if o.Replicas > 0 || o.Fsync > 0 {
		return nil
	}
	var secret [sha256.Size]byte
	rand.Read(secret[:]) // never fails
	return func(id uint64) int64 {
		mac := hmac.New(sha256.New, secret[:])
		mac.Write(binary.BigEndian.AppendUint64(nil, id))
		return int64(binary.BigEndian.Uint64(mac.Sum(nil))>>2 | 1<<61) // positive, and no number of Redisson's
	}
}
