package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// runAll lets every contestant have its turns: work by work, and in every round one after the other, on each server. When
// ctx ends it returns what it has.
func runAll(ctx context.Context, opts options, servers []*server) ([]Result, error) {
	var results []Result
	began := time.Now()
	turns := countTurns(opts)
	for _, w := range opts.works {
		for round := 1; round <= opts.rounds; round++ {
			for _, e := range opts.entries {
				if !e.takesPart(w) {
					continue
				}
				for _, s := range servers {
					t := turn{opts: opts, server: s, work: w, entry: e}
					measured, err := t.run(ctx)
					if ctx.Err() != nil {
						fmt.Fprintf(os.Stderr, "\nstopped after %d of %d turns\n", len(results), turns)
						return results, nil
					}
					result := newResult(w, e, round, measured, err)
					if len(servers) > 1 {
						result.Server = s.name
					}
					results = append(results, result)
					fmt.Fprintf(os.Stderr, "%4.0fs %3d/%d  round %d  %s\n",
						time.Since(began).Seconds(), len(results), turns, round, result.line())
				}
			}
		}
	}
	return results, nil
}

func countTurns(opts options) (turns int) {
	for _, w := range opts.works {
		for _, e := range opts.entries {
			if e.takesPart(w) {
				turns += opts.rounds * len(opts.servers)
			}
		}
	}
	return turns
}
