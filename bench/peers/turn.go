package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/load/crew"
	"github.com/wheellock/wheellock/internal/testkit/figures"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// turn is one contestant at one work, once.
type turn struct {
	opts   options
	server *server
	work   work
	entry  entry
	round  int // from 1
}

// measurement is what a turn measured, before it is put in relation to the number of pairs.
type measurement struct {
	samples []load.Sample // of each process
	redis   resp.Counters
}

// run does the turn. An error means that there is no figure.
func (t *turn) run(ctx context.Context) (measurement, error) {
	if err := t.server.clear(); err != nil {
		return measurement{}, fmt.Errorf("emptying Redis: %w", err)
	}
	if t.entry.measure != nil {
		return t.entry.measure(ctx, t)
	}
	return t.runCrew(ctx)
}

// plan is the work as the load has it.
func (t *turn) plan() *load.Plan {
	w := t.work
	p := &load.Plan{
		Prefix: freshPrefix(), Kind: t.entry.kind, Names: w.Hot, Workers: w.callers(), Processes: w.Processes, Async: w.Load == asynchronous,
		Hold: w.Inside, Wait: longWait, Warmup: t.opts.warmUp, Duration: t.opts.length, Permits: 1,
	}
	switch {
	case w.Hot == 0:
		p.Names = p.Workers
	case w.Load == handover:
		p.Hold = settle(t.opts.away)
	}
	if kind, special := kinds[w.Kind]; special && t.entry.open == nil {
		p.Kind = kind
	}
	if w.Limits {
		p.Permits = limitPermits
	}
	return p
}

// settle is what a waiter gets to ask, be refused, subscribe, ask again and go to sleep, before the holder lets go: these are three round trips
// to a server that is so far away.
func settle(away time.Duration) time.Duration { return 3*time.Millisecond + 4*2*away }

// freshPrefix is that of the names of a turn, so that nothing an earlier one left in Redis can matter. Names have 24 bytes or a few more.
func freshPrefix() string { return rand.Text()[:7] + ":" }

// place is where a process of a turn finds its locks.
type place struct{ URL, Contestant, Work string }

// runCrew does the turn in processes of the contestant's own, so that processor time, allocations and garbage collection are its alone. When a phase
// is over in all processes it reads what Redis counts.
func (t *turn) runCrew(ctx context.Context) (m measurement, err error) {
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	plan := t.plan()
	c, err := crew.Hire(ctx, &crew.Job{
		Plan: plan, Programs: []string{self}, Role: crewRole, Where: place{t.server.urls(t.work), t.entry.name, t.work.ID},
	})
	if err != nil {
		return m, err
	}
	defer c.Dismiss()
	c.Begin()
	m.samples = make([]load.Sample, plan.Processes)
	var before resp.Counters
	over := make(map[load.Phase]int) // in so many processes
	for {
		var e crew.Event
		select {
		case e = <-c.Events():
		case <-ctx.Done():
			return m, ctx.Err()
		}
		s := e.Sample
		switch {
		case e.Died != "":
			return m, fmt.Errorf("process %d ended too early: %s", e.Process+1, e.Died)
		case s == nil:
			continue
		case s.Phase == load.Measured:
			m.samples[e.Process].Add(s, true)
		default: // two holders are too many before, too
			figures.Add(&m.samples[e.Process].Counts.Breaches, &s.Counts.Breaches)
		}
		if s.Last {
			over[s.Phase]++
		}
		if !s.Last || over[s.Phase] < plan.Processes {
			continue
		}
		now, err := t.server.Counters()
		if err != nil || s.Phase == load.Measured {
			m.redis = now.Since(before)
			return m, err
		}
		before = now
	}
}

// join says how a process of a turn locks.
func join(share *crew.Share, cfg *load.Config, _ func(string, ...any)) error {
	var at place
	if err := json.Unmarshal(share.Where, &at); err != nil {
		return err
	}
	w, known := workNamed(at.Work)
	e, found := entryNamed(at.Contestant)
	if !known || !found {
		return fmt.Errorf("cannot do %s with %s", at.Work, at.Contestant)
	}
	cfg.Contest = &load.Contest{Fresh: w.Hot == 0, Each: w.Fleet, Alternate: w.Load == handover}
	if e.open != nil {
		cfg.Contest.Open = func() (load.Library, error) { return e.open(at.URL) }
		return nil
	}
	for url := range strings.SplitSeq(at.URL, ",") {
		o, err := engine.ParseURL(url)
		if err != nil {
			return err
		}
		cfg.Redis = append(cfg.Redis, o)
	}
	return nil
}

// pause waits, or answers why it did not.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
