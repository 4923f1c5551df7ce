package rivals

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// When a call is cancelled.
const (
	inFlight = iota // the name is free, and the acquire or its answer is under way
	waiting         // another has the name, and frees it at about the same time
	moments
)

// cancelled is what came of calls whose context ended before they returned.
type cancelled struct {
	Rival   string
	Calls   [moments]int
	Granted int // of them: returned a hold all the same, which was unlocked
	Late    spread
	Orphans [moments]int
	Blocks  spread
	Stay    int // orphans that outlive their lease
	Void    int // not counted, or not looked for: the machine stood still
}

// canceller makes calls and cancels them.
type canceller struct {
	*field
	far     rival // its packets take 5 ms each way
	other   rival // holds what the far one waits for
	orphans *orphans

	mu   sync.Mutex // guards the rest
	sum  cancelled
	late []time.Duration
}

// cancelCalls makes n calls from 32 callers and cancels each at some moment.
func cancelCalls(f *field, n int) cancelled {
	c := &canceller{field: f, other: f.connect(f.server.Addr())}
	c.far, _ = f.behind(5 * time.Millisecond)
	_ = unlock(f.mustLock(c.far, "warm")) // scripts are loaded, connections made
	c.orphans = f.watchOrphans()
	f.turn.Lock()
	share(32, n, func(int) func(string, int) {
		return func(name string, i int) { c.one(name, i%moments) }
	})
	f.turn.Unlock()
	c.sum.Stay = c.orphans.end()
	c.sum.Rival, c.sum.Late, c.sum.Blocks, c.sum.Void = f.name, spreadOf(c.late), c.orphans.blocks(), c.sum.Void+c.orphans.void
	for m := range moments {
		c.sum.Orphans[m] = c.orphans.ofKind(m)
	}
	return c.sum
}

// endingAt is a context that ends then, by its deadline or because somebody cancels it.
func endingAt(end time.Time) (context.Context, context.CancelFunc) {
	if rand.N(2) == 0 {
		return context.WithDeadline(background, end)
	}
	ctx, cancel := context.WithCancel(background)
	alarm := time.AfterFunc(time.Until(end), cancel)
	return ctx, func() { alarm.Stop(); cancel() }
}

// one makes one call whose context ends at some moment, unless it is granted sooner.
func (c *canceller) one(name string, moment int) {
	var freeing sync.WaitGroup
	lasts := 20 * time.Millisecond
	if moment == waiting {
		lasts = 60 * time.Millisecond
		h := c.mustLock(c.other, name)
		freeing.Go(func() { time.Sleep(rand.N(lasts)); _ = unlock(h) })
	}
	end := time.Now().Add(rand.N(lasts))
	ctx, stop := endingAt(end)
	h, err := c.far.lock(ctx, name)
	late := time.Since(end)
	if err == nil {
		_ = unlock(h)
	}
	stop()
	freeing.Wait()
	if err == nil && late < 0 {
		return // the grant was quicker
	}
	void := c.pace.stood(end) > tolerable
	c.mu.Lock()
	defer c.mu.Unlock()
	if void {
		c.sum.Void++
		return
	}
	c.orphans.suspect(c.far.key(name), end, moment)
	c.sum.Calls[moment]++
	c.late = append(c.late, max(late, 0))
	if err == nil {
		c.sum.Granted++
	}
}
