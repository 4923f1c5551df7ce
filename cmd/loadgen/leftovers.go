package main

import (
	"context"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/internal/load"
)

// leftovers lists the keys of this run that are still there although nobody holds them, and the names
// without all of their permits. When a process died, its locks may stand until their leases are over. What remains
// by right, such as the counters of the checks and its places in line, is removed: it is ours.
func (s *session) leftovers() (locks, permits []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	p := s.plan
	patient := time.Now()
	if len(s.facts.Died) > 0 {
		patient = patient.Add(p.LeaseTime() + 5*time.Second)
		s.live.Note("waiting up to %v for the leases of the process that died", p.LeaseTime())
	}
	for {
		if locks, err = s.sweep(ctx); err != nil {
			return nil, nil, err
		}
		if len(locks) == 0 || !time.Now().Before(patient) {
			break
		}
		select {
		case <-s.hurry.Done():
			patient = time.Now()
		case <-time.After(200 * time.Millisecond):
		}
	}
	permits, err = s.countPermits(ctx)
	return locks, permits, err
}

// sweep removes the keys that remain by right, and lists the others. Only what bears this run's prefix is looked at: the server may
// be one that others use.
func (s *session) sweep(ctx context.Context) (locks []string, err error) {
	p := s.plan
	keys, err := s.target.Keys(ctx, p.Prefix)
	if err != nil {
		return nil, err
	}
	var remains []string
	for _, key := range keys {
		switch {
		case p.IsPermits(key): // counted at the end
		case p.Remains(key) || len(s.facts.Died) > 0 && load.IsLine(key):
			remains = append(remains, key)
		default:
			locks = append(locks, key)
		}
	}
	return locks, s.target.Remove(ctx, remains)
}

// countPermits says which names have not all their permits, and removes the permits of all names. A semaphore without holders cannot
// know what a process that died had taken, so its count is not judged then.
func (s *session) countPermits(ctx context.Context) (wrong []string, err error) {
	p := s.plan
	names := p.PermitKeys()
	numbers, err := s.target.Numbers(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		n, there := numbers[name]
		if p.Kind == load.Limit && !there { // nobody wanted it
			continue
		}
		if n != int64(p.Permits) && !(p.Kind == load.Semaphore && len(s.facts.Died) > 0) { // it has no holders
			wrong = append(wrong, fmt.Sprintf("%s (%d of %d)", name, n, p.Permits))
		}
	}
	return wrong, s.target.Remove(ctx, names)
}
