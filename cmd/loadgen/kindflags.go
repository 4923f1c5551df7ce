package main

import "github.com/wheellock/wheellock/internal/load"

// What is usual where a kind has it.
const (
	usualReaders = 0.9
	usualPermits = 4
)

// checkKind completes what belongs to some kinds alone, and complains of what does not fit together.
func checkKind(p *load.Plan, given map[string]bool, complain func(string, ...any)) {
	switch {
	case given["readers"] && p.Kind != load.RW:
		complain("--readers with --kind %s: only rw has readers", p.Kind)
	case p.Readers < 0 || p.Readers > 1:
		complain("--readers %g: must be from 0 to 1, the share of calls that read", p.Readers)
	case p.Kind == load.RW && !given["readers"]:
		p.Readers = usualReaders
	}
	switch {
	case given["permits"] && !p.Kind.HasPermits():
		complain("--permits with --kind %s: only semaphore, permits and limit have permits", p.Kind)
	case given["permits"] && (p.Permits < 1 || p.Permits > maxMany):
		complain("--permits %d: must be from 1 to %d", p.Permits, maxMany)
	case p.Kind.HasPermits() && !given["permits"]:
		p.Permits = usualPermits
	}
	// The cell still counts a reader or a permit after the end of its lease as inside, so the next owner would be reported as one too
	// many, although it is there by right.
	if given["lease"] && (p.Kind == load.Semaphore || p.Kind == load.Latch) {
		complain("--lease with --kind %s: it has no holders whose lease could end", p.Kind)
	} else if given["lease"] && p.Kind.Shares() {
		complain("--lease with --kind %s: who is inside is counted, and a lease that ends by itself would not count", p.Kind)
	}
	if p.Kind == load.Multi && p.Names < 2 {
		complain("--names %d with --kind multi: each call takes two names", p.Names)
	}
}
