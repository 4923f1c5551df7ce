package chaos

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// grants are the digests of the scripts that give something to somebody.
var grants = func() (digests []string) {
	for _, s := range []scripts.Script{scripts.Acquire, scripts.AcquireInLine, scripts.AcquireFenced, scripts.AcquireRead, scripts.AcquireWrite,
		scripts.AcquireWriteInLine, scripts.FairAsk, scripts.PermitTake} {
		sum := sha1.Sum([]byte(s.Text))
		digests = append(digests, hex.EncodeToString(sum[:]))
	}
	return digests
}()

// refuseAfterLoss takes the chance that a lost answer gives to a server that refuses writes: 1. an acquire runs, and its
// answer is lost. 2. Some time passes until its client can ask again. 3. When it does the server refuses writes, so that
// the lease cannot be made to count from now on. 4. The server takes writes again. Whoever was told that he holds the
// lock for a lease from the second question on finds another beside him.
func refuseAfterLoss(s *strike) bool {
	refuse, allow := s.refusal()
	victims := s.everyone()
	defer victims.release()
	var lost []<-chan struct{}
	for _, v := range victims {
		lost = append(lost, loseGrant(v.proxy))
		defer v.proxy.BlackHole(redistest.Both, false)
	}
	hit := false
	for _, c := range lost {
		hit = within(c, 50*time.Millisecond) || hit
	}
	for _, v := range victims {
		v.proxy.SwallowNothing()
	}
	time.Sleep(100*time.Millisecond + s.upTo(400*time.Millisecond)) // the links have not been given up yet
	hit = refuse() && hit
	for _, v := range victims {
		v.proxy.BlackHole(redistest.Both, false)
	}
	time.Sleep(200*time.Millisecond + s.upTo(300*time.Millisecond))
	return allow() && hit
}

// loseGrant loses the answer to the next acquire, and with it the way to Redis until that is opened again. The channel
// is closed when that has happened.
func loseGrant(proxy *redistest.Proxy) <-chan struct{} {
	lost := make(chan struct{})
	var once sync.Once
	proxy.SwallowReply(redistest.Swallow{Match: func(args []string) bool {
		if len(args) < 2 || !strings.EqualFold(args[0], "EVALSHA") || !slices.Contains(grants, args[1]) {
			return false
		}
		once.Do(func() { proxy.BlackHole(redistest.Both, true); close(lost) })
		return true
	}})
	return lost
}

// refusal draws a way in which Redis refuses writes and serves reads.
func (s *strike) refusal() (refuse, allow func() bool) {
	do := func(args ...string) func() bool {
		return func() bool { return s.server.Do(args...).Err() == nil }
	}
	switch s.IntN(3) {
	case 0: // NOREPLICAS
		return do("CONFIG", "SET", "min-replicas-to-write", "1"), do("CONFIG", "SET", "min-replicas-to-write", "0")
	case 1: // READONLY
		return do("REPLICAOF", "127.0.0.1", "1"), do("REPLICAOF", "NO", "ONE")
	default: // MISCONF
		s.failSnapshot()
		return do("CONFIG", "SET", "stop-writes-on-bgsave-error", "yes"), do("CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
	}
}

// failSnapshot has Redis fail to save a snapshot: nobody can write to /proc. It is not to mind that yet.
func (s *strike) failSnapshot() {
	for _, args := range [][]string{{"stop-writes-on-bgsave-error", "no"}, {"dir", "/proc"}, {"save", "86400 1000000000"}} {
		s.server.Do(append([]string{"CONFIG", "SET"}, args...)...)
	}
	s.server.Do("BGSAVE")
	for end := now().plus(time.Second); now() < end; time.Sleep(5 * time.Millisecond) {
		if strings.Contains(s.server.Do("INFO", "persistence").Text, "rdb_last_bgsave_status:err") {
			return
		}
	}
}
