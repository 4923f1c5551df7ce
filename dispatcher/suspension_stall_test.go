//go:build wheellock_stall

package dispatcher

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/wheel"
	"github.com/wheellock/wheellock/wheel/stall"
)

// What has come due while the machine was suspended is done a second after it goes on at the latest, although no timer
// counts the time of the suspension and the wheel says nothing.
func TestStalledMachineWakesWhatIsOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var suspended atomic.Int64
		undo := stall.SetWatch(func() stall.Watch {
			return stall.Watch{Suspended: func() time.Duration { return time.Duration(suspended.Load()) }}
		})
		defer undo()
		l := loopOf(func(wheel.Tick) {})
		l.turn(t)
		m := &dozer{alarms: []gate.Time{time.Hour}}
		e := gate.NewEntry("stock:7", gate.MutexKind, l.cfg.Gate)
		e.Machine = m
		l.mail.put(do(func(gate.Time) { l.gates.stepped(e) }))
		time.Sleep(2500 * time.Millisecond)
		suspended.Store(int64(time.Hour))
		time.Sleep(lookEvery)
		synctest.Wait()
		if len(m.woken) != 1 {
			t.Errorf("woken at %v, want once, a second after the suspension at the latest", m.woken)
		}
	})
}

// A turn that finds a suspension has its time: what the turn trusts must not be older than the look.
// invariant: clock-counts-suspension
func TestStalledTurnHasTheTimeOfTheSuspensionItFinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var suspended atomic.Int64
		undo := stall.SetWatch(func() stall.Watch {
			return stall.Watch{Suspended: func() time.Duration { return time.Duration(suspended.Load()) }}
		})
		defer undo()
		c := turnClock{Clock: wheel.NewClock()}
		c.beginTurn()
		time.Sleep(checkEvery)
		suspended.Store(int64(time.Hour))
		if now := c.beginTurn(); now < time.Hour || c.checked < time.Hour {
			t.Errorf("the turn is at %v, the look at %v after a suspension of an hour", now, c.checked)
		}
	})
}
