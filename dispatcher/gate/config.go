package gate

import (
	"time"

	"github.com/wheellock/wheellock/wheel"
)

// Config is what the machines of one dispatcher share. It does not change after the engine was opened,
// but for the fields that say so.
type Config struct {
	Lease       time.Duration // the watchdog's lease
	HandoffTime time.Duration // how long a tenure is handed on after its last confirmation; 0: never
	PollCap     time.Duration // how long a waiter sleeps at most before it asks again
	Echo        int32         // how often a message of ours comes back to us; 0: once
	MaxHold     time.Duration // how long a watched hold lasts at most; 0: no bound
	UUID        string        // the engine's: owner fields are "<UUID>:<number>"

	Code func() int64 // draws the code of a claim: a secret, from 2 on, another one each time; nil: there are no claims. Owned by the loop.

	FairWaiterLease time.Duration // how long the places of an engine that died stand in a fair queue

	Epoch        uint32                // of the link to Redis: grows when it breaks. Owned by the loop.
	RTT          time.Duration         // smoothed time of a round trip. Owned by the loop.
	LastID       uint64                // the number of the newest tenure; those of an engine's dispatchers begin far apart. Owned by the loop.
	Waits        *wheel.Slots[*Waiter] // those with a WithWait. Owned by the loop.
	idleContests []*contest            // to be borrowed. Owned by the loop.
	Stats        *Stats
}

// Answer settles a waiter and stops its timer. False: its caller has gone.
func (cfg *Config) Answer(w *Waiter, out Outcome) bool {
	w.Timer.Remove()
	if out.Why == Refused || out.Why == Foreign || out.Why == Overloaded {
		cfg.Stats.Refused.Inc()
	}
	return w.By.Settle(out)
}

// maxIdleContests bounds those that are kept for the next names: 160 kB.
const maxIdleContests = 2048

func (cfg *Config) takeContest() *contest {
	last := len(cfg.idleContests) - 1
	if last < 0 {
		return &contest{rivals: &noRivals}
	}
	c := cfg.idleContests[last]
	cfg.idleContests = cfg.idleContests[:last]
	return c
}

func (cfg *Config) putContest(c *contest) {
	if len(cfg.idleContests) < maxIdleContests {
		c.askAt = 0
		cfg.idleContests = append(cfg.idleContests, c)
	}
}

// sleep is how long a refused waiter sleeps when no message comes: to the end of the owner's lease, of which the
// last millisecond is still its own, or for the poll cap, less a jitter drawn from seed.
func (cfg *Config) sleep(ttl time.Duration, seed uint64) time.Duration {
	sleep := cfg.PollCap - jitter(seed, cfg.PollCap/4)
	if ttl >= 0 {
		sleep = min(sleep, ttl+time.Millisecond)
	}
	return sleep
}
