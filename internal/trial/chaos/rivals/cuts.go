package rivals

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
)

// What is broken off, and how.
const (
	acquireReset = iota
	acquireSwallowed
	releaseReset
	releaseSwallowed
	breaks
)

// broken is what came of calls whose connection was cut while they were under way.
type broken struct {
	Rival   string
	Hits    [breaks]int
	Failed  [breaks]int // of them: the caller was told an error
	Orphans [breaks]int // of all: the key was there though the acquire had failed, or the release was over
	Blocks  spread
	Stay    int // orphans that outlive their lease
	Void    int // not looked for: the machine stood still
}

// oneWay is how long packets take: in twice of it a cut strikes.
const oneWay = 2 * time.Millisecond

// breaker makes calls and breaks them off.
type breaker struct {
	*field
	orphans *orphans

	mu  sync.Mutex // guards sum
	sum broken
}

// breakCalls takes and frees n names from 8 callers with a connection each, and breaks one call of each off.
func breakCalls(f *field, n int) broken {
	b := &breaker{field: f, orphans: f.watchOrphans()}
	share(8, n, func(int) func(string, int) {
		r, proxy := f.behind(oneWay)
		_ = unlock(f.mustLock(r, "warm"))
		return func(name string, i int) { b.one(r, proxy, name, i%breaks) }
	})
	b.sum.Stay = b.orphans.end()
	b.sum.Rival, b.sum.Blocks, b.sum.Void = f.name, b.orphans.blocks(), b.orphans.void
	for kind := range breaks {
		b.sum.Orphans[kind] = b.orphans.ofKind(kind)
	}
	return b.sum
}

// one takes a free name, asking once, and frees it. It begins with connections that work.
func (b *breaker) one(r rival, proxy *redistest.Proxy, name string, kind int) {
	began := time.Now()
	var h hold
	lock := func() (err error) { h, err = r.try(background, name); return err }
	free := func() error { return unlock(h) }
	switch kind {
	case acquireReset, acquireSwallowed:
		_ = unlock(b.mustLock(r, name))
		if b.struck(proxy, kind, lock) == nil {
			_ = free()
		}
	case releaseReset, releaseSwallowed:
		h = b.mustLock(r, name)
		_ = b.struck(proxy, kind, free)
	}
	b.orphans.suspect(r.key(name), began, kind)
}

// struck makes a call and breaks it off.
func (b *breaker) struck(proxy *redistest.Proxy, kind int, call func() error) error {
	var err error
	var hit bool
	if kind == acquireReset || kind == releaseReset {
		err, hit = reset(proxy, call)
	} else {
		err, hit = swallowed(proxy, call)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if hit {
		b.sum.Hits[kind]++
		if err != nil {
			b.sum.Failed[kind]++
		}
	}
	return err
}

// reset cuts all connections at some moment of the call.
func reset(proxy *redistest.Proxy, call func() error) (err error, hit bool) {
	var over atomic.Bool
	var cutting sync.WaitGroup
	cutting.Go(func() {
		time.Sleep(rand.N(2 * oneWay))
		hit = !over.Load() && proxy.Cut() > 0
	})
	err = call()
	over.Store(true)
	cutting.Wait()
	return err, hit
}

// swallowed loses the answer, with its connection, once the command has run.
func swallowed(proxy *redistest.Proxy, call func() error) (err error, hit bool) {
	before := proxy.Stats().Swallowed
	proxy.SwallowReply(redistest.Swallow{Match: func(args []string) bool {
		switch strings.ToUpper(args[0]) {
		case "EVALSHA", "EVAL", "SET":
			return true
		}
		return false
	}})
	err = call()
	proxy.SwallowNothing()
	return err, proxy.Stats().Swallowed > before
}
