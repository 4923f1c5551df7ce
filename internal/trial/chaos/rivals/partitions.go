package rivals

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
)

// partitioned is what came of holders whose packets were lost, both ways, for longer than the lease.
type partitioned struct {
	Rival   string
	Rounds  int
	Before  int    // told before the next was granted
	After   int    // told after it
	Never   int    // not told within two leases of the next grant, nor within one after the network had healed
	Void    int    // told late by no more than the machine stood still, and 0.1 s: not counted as After
	Margin  spread // by which they were told before
	Both    spread // for how long two believed to hold
	Noticed spread // from the beginning of the partition until told
}

// divider cuts holders off, and comes next.
type divider struct {
	*field
	next rival // past every proxy

	mu                    sync.Mutex // guards the rest
	sum                   partitioned
	margin, both, noticed []time.Duration
}

// partition cuts n holders off, 20 at a time.
func partition(f *field, n int) partitioned {
	d := &divider{field: f, next: f.connect(f.server.Addr())}
	share(20, n, func(int) func(string, int) {
		r, proxy := f.behind(0)
		return func(name string, _ int) { d.one(r, proxy, name) }
	})
	d.sum.Rival, d.sum.Rounds = f.name, n
	d.sum.Margin, d.sum.Both, d.sum.Noticed = spreadOf(d.margin), spreadOf(d.both), spreadOf(d.noticed)
	return d.sum
}

// one cuts a holder off at some moment between renewals, until two leases after the next one was granted.
func (d *divider) one(r rival, proxy *redistest.Proxy, name string) {
	h := d.mustLock(r, name)
	when := told(h)
	time.Sleep(rand.N(d.lease / 2))
	began := time.Now()
	proxy.BlackHole(redistest.Both, true)
	second := d.comeNext(r.key(name), name)
	granted := time.Now()
	at, ok := within(2*d.lease, when)
	stood := d.pace.stood(began)
	proxy.BlackHole(redistest.Both, false)
	if !ok {
		at, ok = within(d.lease, when)
	}
	_ = unlock(second)
	_ = unlock(h)

	d.mu.Lock()
	defer d.mu.Unlock()
	if !ok {
		d.sum.Never++
		d.both = append(d.both, time.Since(granted))
		return
	}
	d.noticed = append(d.noticed, at.Sub(began))
	switch late := at.Sub(granted); {
	case late < 0:
		d.sum.Before++
		d.margin = append(d.margin, -late)
	case stood > 0 && late < stood+100*time.Millisecond:
		d.sum.Void++
	default:
		d.sum.After++
		d.both = append(d.both, late)
	}
}

// comeNext asks every millisecond from shortly before the key ends, until it is granted.
func (d *divider) comeNext(key, name string) hold {
	left := time.Duration(d.server.Do("PTTL", key).Int) * time.Millisecond
	time.Sleep(left - 20*time.Millisecond)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 30_000 {
		if h, err := d.next.try(background, name); err == nil {
			return h
		}
		<-tick.C
	}
	d.t.Fatalf("%s: nobody could come next on %s", d.entry.name, name)
	return hold{}
}
