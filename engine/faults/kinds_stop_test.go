package faults_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit"
)

// A server that stands still for five seconds at any moment after a grant loses no hold of 30 s, whether the name was taken, given by the release
// of another process, or handed on in this one.
// invariant: gift-counts-from-its-acquire
func TestFaultKindsAStopOfTheServerLosesNoHold(t *testing.T) {
	t.Parallel()
	onEveryKind(t, testkit.Times(t, 200, 10), (*kind).hasHolders, func(s *stage) {
		const name = "stopped"
		s.stock(name)
		get := func(call under) taken {
			s.T.Helper()
			got, err := call.wait(testkit.Soon(s.T))
			if err != nil {
				s.T.Error(err)
			}
			return got
		}
		give := func(was taken) {
			s.T.Helper()
			if err := was.back(testkit.Soon(s.T)); err != nil {
				s.T.Fatal(err)
			}
		}
		ours := s.source(s.ours, name)
		var held taken
		switch s.below(3) {
		case 0:
			held = get(ours.async(s.T.Context()))
		case 1:
			theirs := s.block(s.T, s.theirs, name)
			waits := ours.async(s.T.Context())
			s.pause(5 * time.Second)
			give(theirs)
			held = get(waits)
		case 2:
			theirs := s.block(s.T, s.theirs, name)
			granted := make(chan taken, 2) // of a MultiLock in any order
			for range 2 {
				call := ours.async(s.T.Context())
				go func() { granted <- get(call) }()
			}
			s.pause(5 * time.Second)
			give(theirs)
			first := <-granted
			s.pause(60 * time.Millisecond)
			give(first)
			held = <-granted
		}
		if s.below(4) == 0 { // between, or during, renewals
			s.pause(15 * time.Second)
		} else {
			s.pause(60 * time.Millisecond)
		}
		goesOn := time.Now().Add(5 * time.Second)
		for _, l := range s.links {
			l.Hold(goesOn)
		}
		time.Sleep(10 * time.Second) // sleeps: five seconds behind the stop
		if err := held.hold.Err(); err != nil || !s.stands(name) {
			s.T.Errorf("five seconds after the stop the hold has ended with %v; it stands in Redis: %t", err, s.stands(name))
		}
		give(held)
		s.checkQuiet()
	}, testkit.Lease(30*time.Second))
}
