package main

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
)

// testAway is how far away the server is of tests that look at times.
const testAway = 2 * time.Millisecond

// TestTurns lets every contestant do a short turn against a real redis-server, in processes of its own.
func TestTurns(t *testing.T) {
	redistest.Require(t, "redis-server")
	near, err := startServer(t.Context(), "redis-server", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	if err := near.startOthers(t.Context(), quorumServers-1, "redis-server", "", 0); err != nil {
		t.Fatal(err)
	}
	far, err := startServer(t.Context(), "redis-server", "", testAway)
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	for _, id := range []string{"distinct-64", "distinct-async", "hot-2p", "handover", "handover-fenced", "handover-fair",
		"fleet-mutex-8-5ms", "fleet-fenced-2", "fleet-fair-2", "fleet-write-64", "fleet-semaphore-2", "fleet-permit-2", "fleet-quorum-2",
		"limits-mutex-512", "limits-limit-512", "limits-permit-64"} {
		w, _ := workNamed(id)
		opts := options{length: 100 * time.Millisecond, warmUp: 20 * time.Millisecond}
		server := near
		if w.Load == handover {
			opts.away, server = testAway, far
		}
		for _, e := range contestants() {
			if !e.takesPart(w) {
				continue
			}
			t.Run(id+"/"+e.name, func(t *testing.T) {
				checkTurn(t, turn{opts: opts, server: server, work: w, entry: e},
					func(one *turn) (measurement, error) { return one.run(t.Context()) })
			})
		}
	}
}

// checkTurn measures a turn, and a longer one if a busy machine finished too little: a pair, one for each of a fleet, or so many hand-overs that their
// median is not the one that the end of the turn cut short; or if it was too short for the clock of a JVM, which tells its processor time in 10 ms.
func checkTurn(t *testing.T, turn turn, measure func(*turn) (measurement, error)) {
	t.Helper()
	var r Result
	least := 1.0
	switch {
	case turn.work.Load == handover:
		least = 3
	case turn.work.Fleet: // until all engines are there, the first has the lock again and again
		least = float64(turn.work.callers())
	}
	enough := func() bool { return r.PairsPerSecond*turn.opts.length.Seconds() >= least }
	for {
		measured, err := measure(&turn)
		if r = newResult(turn.work, turn.entry, 1, measured, err); enough() && r.ClientCPU > 0 || r.Failed > 0 || turn.opts.length > 3*time.Second {
			break
		}
		turn.opts.length *= 4
	}
	if r.Void != "" || r.Failed > 0 {
		t.Fatal(r.line())
	}
	if r.Commands <= 0 || r.RedisCPU <= 0 || r.ClientCPU <= 0 {
		t.Errorf("no cost was measured: %+v", r)
	}
	if turn.work.Fleet && turn.entry.name == "wheellock" && (r.Handovers <= 0 || r.Handovers > 1 || r.Scripts <= 0 || r.Executed <= r.Scripts) {
		t.Errorf("per pair %g hand-overs, %g scripts, %g commands", r.Handovers, r.Scripts, r.Executed)
	}
	// The release has to reach the server, and the grant the other process.
	if least := micros(2 * turn.opts.away); turn.work.Load == handover && enough() && r.Wait.P50 < least {
		t.Errorf("half of the hand-overs took less than %s, with the server so far away that each takes %s: %s",
			microseconds(r.Wait.P50), microseconds(least), r.line())
	}
}
