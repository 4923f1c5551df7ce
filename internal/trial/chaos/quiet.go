package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
)

// restWithin bounds the time from the end of the last fault until every call of a living client was answered;
// quietWithin that from there until nothing stands in Redis that nobody holds. Stalls of the machine come on top.
const (
	restWithin  = 30 * time.Second
	quietWithin = 5 * time.Second
)

// furnish sets the permits of the phase's semaphores.
func (ph *phase) furnish() {
	ph.withEngine(func(ctx context.Context, e *engine.Engine) error {
		for _, p := range ph.places {
			var err error
			switch p.Kind {
			case semaphores:
				_, err = e.Semaphore(p.Name).TrySetPermits(ctx, int64(p.Permits))
			case permits:
				_, err = e.PermitSemaphore(p.Name).TrySetPermits(ctx, int64(p.Permits))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// withEngine runs f with an engine of this process.
func (ph *phase) withEngine(f func(context.Context, *engine.Engine) error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e, err := openUntil(ctx, engine.Options{Redis: rueidis.ClientOption{InitAddress: []string{ph.server.Addr()}}})
	if err == nil {
		err = f(ctx, e)
		_ = e.Close() // tells nothing
	}
	if err != nil {
		ph.tb.Errorf("looking at the server: %v", err)
	}
}

// settle brings the phase to its end: everybody rests, Redis is empty, everybody leaves.
func (ph *phase) settle(stopPace func()) *history {
	h := &history{phase: ph}
	ph.mu.Lock()
	living := ph.clients
	ph.mu.Unlock()
	for _, p := range living {
		p.order()
	}
	left := restWithin
	for _, p := range living {
		if p.ruin() == "" && !running(p.rests, &left) && p.ruin() == "" {
			h.fail("liveness", "client %d did not come to rest within %v of the last fault", p.Number, restWithin)
			p.kill()
		}
	}
	for _, p := range living {
		if why := p.ruin(); why != "" {
			h.fail("death", "client %d %s", p.Number, why)
		}
	}
	h.awaitQuiet()
	for _, p := range living {
		p.order()
		p.hangUp()
	}
	left = restWithin
	for _, p := range living {
		if !running(p.child.Done(), &left) {
			h.fail("quiet", "client %d did not close within %v", p.Number, restWithin)
			p.kill()
		}
		<-p.read
		if code := p.child.ExitCode(); code != 0 && !p.wasKilled() {
			h.fail("quiet", "client %d ended with %d:\n%s", p.Number, code, p.stderr)
		}
	}
	stopPace() // and its connection
	for began := time.Now(); ph.connections() > 0; time.Sleep(time.Millisecond) {
		if time.Since(began) > quietWithin {
			h.fail("quiet", "%d connections are left", ph.connections())
			break
		}
	}
	return h
}

// connections is how many there are to the server.
func (ph *phase) connections() int {
	return ph.server.ClientCount("normal") + ph.server.ClientCount("pubsub")
}

// running reports whether c is closed before what is left is over, which it lowers. Only time counts in which this
// process ran: a machine that stood still has kept everybody from coming to an end.
func running(c <-chan struct{}, left *time.Duration) bool {
	const step = 5 * time.Millisecond
	for ; *left > 0; *left -= step {
		if within(c, step) {
			return true
		}
	}
	return false
}

// awaitQuiet waits until nothing stands in Redis that nobody holds.
func (h *history) awaitQuiet() {
	ph := h.phase
	began := now()
	bound := quietWithin
	if len(ph.gone) > 0 || ph.ruined() {
		bound += 2 * ph.lease // what the dead held runs out
	}
	for {
		left := ph.leftovers()
		if len(left) == 0 {
			break
		}
		quiet := span{began, now()}
		if quiet.to.sub(quiet.from) > bound+quiet.shared(ph.stallsNow()) {
			h.fail("quiet", "%v after the last call there still are %d things: %.200q", bound, len(left), left)
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	h.quiet = now().sub(began)
	h.checkCounts()
}

func (ph *phase) stallsNow() []span {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	return ph.stalls
}

// leftovers are keys and subscriptions that nobody should have any more. What stays for good are fencing counters
// and counts of permits; receipts stay for a minute.
func (ph *phase) leftovers() []string {
	var left []string
	for _, key := range ph.server.Keys() {
		counted := slices.ContainsFunc(ph.places, func(p place) bool { return p.Name == key && p.Permits > 0 })
		if counted || strings.HasPrefix(key, "redisson_lock_token:") || strings.Contains(key, ":wheellock:receipt:") || strings.HasSuffix(key, ":wheellock:claims") || ph.isRemnant(key) {
			continue
		}
		left = append(left, key)
	}
	subs := ph.server.Subscriptions()
	return append(append(left, subs.Channels...), subs.Shard...)
}

// isRemnant tells whether a key is left by nobody who lives: permits that ran out, until somebody asks; a line without places, until its
// TTL is over (SINCE in scripts/line.lua).
func (ph *phase) isRemnant(key string) bool {
	return strings.HasPrefix(key, "{permits:") && ph.server.Do("TYPE", key).Text == "zset" ||
		strings.HasSuffix(key, ":wheellock:line") && slices.Equal(ph.server.Do("ZRANGE", key, "0", "-1").Texts(), []string{"since"})
}

// checkCounts compares what is left of permits with what there was: each taking and giving must have had its
// effect once.
func (h *history) checkCounts() {
	h.phase.withEngine(func(ctx context.Context, e *engine.Engine) error {
		for _, p := range h.phase.places {
			var have int64
			var err error
			switch p.Kind {
			case semaphores:
				have, err = e.Semaphore(p.Name).Available(ctx)
			case permits:
				have, err = e.PermitSemaphore(p.Name).Available(ctx)
			default:
				continue
			}
			if err != nil {
				return fmt.Errorf("counting the permits of %s: %w", p.Name, err)
			}
			if have != int64(p.Permits) {
				h.fail("executions", "%s has %d permits in the end, want %d", p.Name, have, p.Permits)
			}
		}
		return nil
	})
}
