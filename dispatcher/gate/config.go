package gate

import (
	"time"

	"github.com/wheellock/wheellock/wheel"
)

// Config is what the machines of one dispatcher share. After the engine was opened only the fields that the loop owns change.
type Config struct {
	LeaseTime   time.Duration // the watchdog's lease
	HandoffTime time.Duration // how long after a confirmation a lease may be handed on; 0: never
	PollCap     time.Duration // the longest sleep of a waiter before it asks again
	MaxHold     time.Duration // the longest time of a watched hold; 0: no bound
	UUID        string        // the engine's: owner fields are "<UUID>:<number>"
	Salt        string        // random, stands behind the owners of simple locks (AppendOwner)

	Codes    Codes  // of places and claims. Owned by the loop.
	Doubts   bool   // no message gives this engine a lock
	LastCode uint64 // the newest number of a claim's code. Owned by the loop.

	FairWaiterLease time.Duration // how long the places of an engine that died stand in a fair queue

	Epoch        uint32                // of the link to Redis: grows when it breaks. Owned by the loop.
	RTT          time.Duration         // of a round trip, at least and of late. Owned by the loop.
	LastID       uint64                // the newest owner number. Owned by the loop.
	Waits        *wheel.Slots[*Waiter] // the waiters that have a WithWait. Owned by the loop.
	idleContests []*contest            // to be taken by the next contested names. Owned by the loop.
	Stats        *Stats
}

// Codes are the secrets by which an engine knows that a release has given it a lock.
type Codes interface {
	// Code is the code of a number below 2^60: at least 2.
	Code(n uint64) int64
	// Number is the number that has the code. Any other code has any number.
	Number(code int64) uint64
}

// Answer settles a waiter and stops its timer. False: its caller has gone.
func (c *Config) Answer(w *Waiter, out Outcome) bool {
	w.Timer.Remove()
	if out.Why == Refused || out.Why == Foreign || out.Why == Overloaded {
		c.Stats.Refused.Inc()
	}
	return w.By.Settle(out)
}

// claims is the lowest number of a claim's code, above all owner numbers.
const claims = 1 << 59

// claimCode draws the code of a claim, which has no other.
func (c *Config) claimCode() int64 {
	c.LastCode++
	return c.Codes.Code(claims | c.LastCode)
}

// takeContest takes a contest from the pool, or makes one.
func (c *Config) takeContest() *contest {
	last := len(c.idleContests) - 1
	if last < 0 {
		return &contest{rivals: &noRivals}
	}
	idle := c.idleContests[last]
	c.idleContests = c.idleContests[:last]
	return idle
}

// putContest gives an empty contest back to the pool.
func (c *Config) putContest(idle *contest) {
	if len(c.idleContests) < 2048 { // 200 kB
		idle.askAt, idle.queue.owners = 0, nil
		c.idleContests = append(c.idleContests, idle)
	}
}

// sleep is how long a refused waiter sleeps if no message comes: to the end of the owner's lease, and a millisecond more because the last
// one is still the owner's, or for the poll cap less a jitter drawn from seed. A place in line is kept alive by questions.
func (c *Config) sleep(ttl time.Duration, seed uint64) time.Duration {
	longest := min(c.PollCap, placeTime/2)
	sleep := longest - jitter(seed, longest/4)
	if ttl >= 0 {
		sleep = min(sleep, ttl+time.Millisecond)
	}
	return sleep
}
