package engine

import (
	crypto "crypto/rand"
	"math/rand/v2"
)

// claimCodes draws the codes by which a dispatcher knows that a release has given it a lock. They come from a generator of ciphers that
// is seeded by the system, so that nobody can make one up who does not read the claims. nil: the engine has no claims, for what it
// is given must be on replicas or on a disk first.
func claimCodes(o *Options) func() int64 {
	if o.Replicas > 0 || o.Fsync > 0 {
		return nil
	}
	var seed [32]byte
	crypto.Read(seed[:]) // never fails
	source := rand.NewChaCha8(seed)
	return func() int64 { return int64(source.Uint64()>>2 | 1<<61) } // positive, and no number of Redisson's
}
