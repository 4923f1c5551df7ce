package load

import (
	"errors"
	"testing"
	"time"
)

const ms = Instant(time.Millisecond)

// leased is the mark of a hold that ends at an instant.
func leased(until Instant) mark { return leasedMark(origin.Add(until.Sub(at(origin)))) }

func TestCellExclusion(t *testing.T) {
	now := Now()
	a, b := watchedMark(1, 1), watchedMark(2, 1)
	t.Run("lets one after the other in", func(t *testing.T) {
		var c cell
		for turn := range uint32(3) {
			m := watchedMark(1, turn)
			if e := c.enter(m, now, now); e.violated || !e.countable {
				t.Errorf("turn %d: entry %+v, want alone and no violation", turn, e)
			}
			c.leave(m, now, 0, false)
		}
	})
	t.Run("finds two watched holds at once", func(t *testing.T) {
		var c cell
		c.enter(a, now, now)
		if e := c.enter(b, now, now); !e.violated || e.countable {
			t.Errorf("second entry %+v, want a violation", e)
		}
	})
	t.Run("finds each of three at once", func(t *testing.T) {
		var c cell
		c.enter(a, now, now)
		for i := range 2 {
			if e := c.enter(watchedMark(3, uint32(i)), now, now); !e.violated {
				t.Errorf("entry %d: %+v, want a violation", i+2, e)
			}
		}
	})
	t.Run("finds one who enters while a lease runs", func(t *testing.T) {
		var c cell
		c.enter(leased(now+10*ms), now, now)
		if e := c.enter(leased(now+20*ms), now+9*ms, now); !e.violated {
			t.Errorf("second entry %+v, want a violation", e)
		}
	})
	t.Run("lets one in whose predecessor's lease is over, but not as one who is alone", func(t *testing.T) {
		var c cell
		c.enter(leased(now+10*ms), now, now)
		if e := c.enter(leased(now+20*ms), now+11*ms, now); e.violated || e.countable {
			t.Errorf("second entry %+v, want no violation, and company", e)
		}
	})
	t.Run("is not confused by one who overstays and leaves late", func(t *testing.T) {
		var c cell
		late, next := leased(now+10*ms), leased(now+30*ms)
		c.enter(late, now, now)
		c.enter(next, now+11*ms, now)
		c.leave(late, now+12*ms, 0, true)
		if e := c.enter(leased(now+40*ms), now+13*ms, now); !e.violated {
			t.Errorf("entry %+v into the section of the one who came second, want a violation", e)
		}
	})
}

func TestCellHandover(t *testing.T) {
	now := Now()
	pass := func(asked Instant, over bool) entry {
		var c cell
		m := watchedMark(1, 1)
		c.enter(m, now, now)
		c.leave(m, now+10*ms, 7, over)
		return c.enter(watchedMark(2, 1), now+13*ms, asked)
	}
	if e := pass(now+5*ms, false); e.handover != 3*time.Millisecond || e.before != 8 {
		t.Errorf("to one who waited: %+v, want 3ms, and from caller 7", e)
	}
	if e := pass(now+11*ms, false); e.handover != 0 {
		t.Errorf("to one who asked later: %+v, want no hand-over", e)
	}
	if e := pass(now+5*ms, true); e.handover != 0 {
		t.Errorf("from one whose lease was over: %+v, want no hand-over", e)
	}
}

// Two mappings of one file are one cell, as two processes have them.
func TestSharedCells(t *testing.T) {
	const names = 1000
	f, err := SharedFile(names)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("SKIPPED: this system does not share memory between processes. NOT PROVED: checks across processes in memory.")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var views [2]Cells
	for i := range views {
		if views[i], err = SharedCells(f, names); err != nil {
			t.Fatal(err)
		}
	}
	now := Now()
	for _, name := range []int{0, 1, names - 1} {
		views[0][name].enter(watchedMark(0, 1), now, now)
		if e := views[1][name].enter(watchedMark(1, 1), now, now); !e.violated {
			t.Errorf("name %d: the other mapping saw %+v, want a violation", name, e)
		}
	}
	if e := views[1][2].enter(watchedMark(1, 2), now, now); e.violated {
		t.Errorf("a name that nobody holds: %+v", e)
	}
}
