package dispatcher

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/wheel"
)

// digests are what the server calls the scripts. They are the same on every server; the first to answer
// SCRIPT LOAD tells them.
type digests struct {
	of atomic.Pointer[[gate.Ops]string]
}

func (d *digests) store(of [gate.Ops]string) { d.of.Store(&of) }

// Loaded is what Load learned.
type Loaded struct {
	digests      [gate.Ops]string
	serverMillis int64
	at           gate.Time
}

// Load brings the scripts to the server and asks for its time. The error says which right is missing.
func Load(ctx context.Context, client rueidis.CoreClient, clock *wheel.Clock) (*Loaded, error) {
	loaded := &Loaded{}
	commands := rueidis.Commands{client.B().Time().Build()}
	for _, op := range operations {
		if s := op.script; s != nil {
			commands = append(commands, client.B().ScriptLoad().Script(s.Text).Build())
		}
	}
	results := client.DoMulti(ctx, commands...)
	loaded.at = clock.Now()
	millis, err := serverMillis(results[0])
	if err != nil {
		return nil, fmt.Errorf("TIME: %w", err)
	}
	loaded.serverMillis = millis
	results = results[1:]
	for op := range operations {
		if operations[op].script == nil {
			continue
		}
		if loaded.digests[op], err = results[0].ToString(); err != nil {
			return nil, fmt.Errorf("SCRIPT LOAD: %w", err)
		}
		results = results[1:]
	}
	return loaded, nil
}

// serverMillis reads the answer to TIME.
func serverMillis(r rueidis.RedisResult) (int64, error) {
	parts, err := r.AsIntSlice()
	if err != nil {
		return 0, err
	}
	if len(parts) != 2 {
		return 0, fmt.Errorf("TIME answered %d values", len(parts))
	}
	return parts[0]*1000 + parts[1]/1000, nil
}

// serverClock is what is known of the server's clock, for notAfter (rule 12). A reading of it counts from when its answer
// was read here, which is later than when the server read its clock: so the estimate is never ahead of the truth by more
// than the millisecond to which both are cut, and notAfter never later than that. A slow answer makes notAfter too early;
// the script's refusal, which says the time, mends that.
type serverClock struct {
	ahead atomic.Int64 // of the engine's clock, in ms, at most; connections read it

	// Owned by loop.
	asked gate.Time
}

// relearn is how often the server is asked for its time: clocks drift by at most 0.05 %, 5 ms in this time.
const relearn = 10_000_000_000

func (s *serverClock) learn(millis int64, at gate.Time) { s.ahead.Store(millis - at.Milliseconds()) }

// notAfter is the server's time, in ms, after which an acquire sent now must do nothing.
func (s *serverClock) notAfter(sent gate.Time) int64 {
	return s.ahead.Load() + (sent + gate.LateWindow).Milliseconds()
}

// stale reports whether the next connection should ask for the time.
func (s *serverClock) stale(now gate.Time) bool {
	if now-s.asked < relearn {
		return false
	}
	s.asked = now
	return true
}

// take learns what a connection brought.
func (s *serverClock) take(l *connection) {
	if l.serverMillis != 0 {
		s.learn(l.serverMillis, l.serverAt)
		l.serverMillis = 0
	}
}
