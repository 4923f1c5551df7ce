package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/sharedmem"
)

func testShared(t *testing.T) shared {
	t.Helper()
	f, err := sharedmem.File(sharedBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := openShared(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func testMeter(t *testing.T, callers int) *meter {
	t.Helper()
	m := newMeter(callers, names{prefix: "abcdefg:"}, testShared(t))
	m.start()
	return m
}

func TestSharedMemorySeesASecondHolder(t *testing.T) {
	s := testShared(t)
	if !s.enter(0) || !s.enter(1) {
		t.Error("first holders of two names were not alone")
	}
	if s.enter(0) {
		t.Error("a second holder thought it was alone")
	}
	s.leave(0)
	s.leave(0)
	if !s.enter(0) {
		t.Error("after all had left, a holder was not alone")
	}
}

func TestMeterCatchesABrokenLock(t *testing.T) {
	t.Run("somebody else holds the name", func(t *testing.T) {
		m := testMeter(t, 1)
		m.shared.enter(0)
		c := &m.callers[0]
		c.hot = 0
		c.begin()
		c.inside()
		c.end(nil)
		one := m.stop()
		result := newResult(allWorks[0], entry{name: "broken"}, 1, measurement{samples: []sample{one}}, nil)
		if one.Broken != 1 || !strings.Contains(result.Void, "NO EXCLUSION") {
			t.Errorf("broken %d times, void for %q", one.Broken, result.Void)
		}
	})
	t.Run("success without a hold", func(t *testing.T) {
		m := testMeter(t, 1)
		m.callers[0].begin()
		m.callers[0].end(nil)
		if one := m.stop(); one.Broken != 1 {
			t.Errorf("broken %d times, want 1", one.Broken)
		}
	})
}

func TestAHandOverIsAPairAfterOneOfAnotherCaller(t *testing.T) {
	m := testMeter(t, 2)
	for _, i := range []int{0, 0, 1, 1, 1, 0} {
		c := &m.callers[i]
		c.hot = 0
		c.begin()
		c.inside()
		c.end(nil)
	}
	r := newResult(allWorks[0], entry{}, 1, measurement{samples: []sample{m.stop()}}, nil)
	if want := 3.0 / 6; r.Handovers != want { // the first one came after nobody's
		t.Errorf("%g hand-overs per pair, want %g", r.Handovers, want)
	}
	if commands := r.perHandover(20); commands != 40 {
		t.Errorf("20 commands per pair are %g per hand-over, want 40", commands)
	}
}

func TestOnlyTheMeasuredPartCounts(t *testing.T) {
	m := newMeter(1, names{prefix: "abcdefg:"}, testShared(t))
	pair := func() {
		m.callers[0].begin()
		m.callers[0].inside()
		m.callers[0].end(nil)
	}
	pair()
	m.start()
	pair()
	pair()
	one := m.stop()
	pair()
	if one.Pairs != 2 || one.Waits.Count() != 2 {
		t.Errorf("%d pairs and %d waits, want 2 and 2", one.Pairs, one.Waits.Count())
	}
}

func TestAStarvedCallerIsSeen(t *testing.T) {
	m0 := testShared(t)
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(2, names{prefix: "abcdefg:"}, m0)
		m.start()
		m.callers[1].begin() // and never granted
		time.Sleep(2 * time.Second)
		one := m.stop()
		if got := one.Waits.Percentile(100).Round(10 * time.Millisecond); got != 2*time.Second {
			t.Errorf("longest wait %v, want 2s", got)
		}
	})
}

// deaf never hears that the lock is free.
type deaf struct{ asked int }

func (d *deaf) Open(string) error { return nil }
func (d *deaf) Close()            {}
func (d *deaf) Pair(ctx context.Context, _ string, _ func()) error {
	d.asked++
	<-ctx.Done()
	return ctx.Err()
}

func TestALostHandOverCountsOnceAndTheWaiterAsksAgain(t *testing.T) {
	memory := testShared(t)
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(1, names{prefix: "abcdefg:"}, memory)
		m.start()
		ctx, cancel := context.WithCancel(t.Context())
		contestant := &deaf{}
		go driveHandover(contestant, 0, settle(0))(ctx, m)
		synctest.Wait()
		m.shared.word(wordReleased).Store(time.Now().UnixNano()) // the other process lets go
		time.Sleep(5 * lostAfter)
		one := m.stop()
		cancel()
		synctest.Wait()
		if one.Lost != 1 || one.Waits.Count() != 1 || contestant.asked != 2 {
			t.Errorf("%d lost, %d waits, asked %d times; want 1, 1, 2", one.Lost, one.Waits.Count(), contestant.asked)
		}
		if waited := one.Waits.Percentile(100); waited < lostAfter {
			t.Errorf("it counted with %v, want at least %v", waited, lostAfter)
		}
		time.Sleep(lostAfter) // rescue sees the end
	})
}
