package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// allTurns lets every contestant have its turns: work by work, and in every round one after the other, on each server.
func allTurns(opts options, servers []*server) (all []turn) {
	for _, w := range opts.works {
		for round := range opts.rounds {
			for _, e := range opts.entries {
				for _, s := range servers {
					if e.takesPart(w) {
						all = append(all, turn{opts, s, w, e, round + 1})
					}
				}
			}
		}
	}
	return all
}

// runAll has all turns. When ctx ends it returns what it has.
func runAll(ctx context.Context, opts options, servers []*server) (results []Result) {
	began, all := time.Now(), allTurns(opts, servers)
	for i, t := range all {
		measured, err := t.run(ctx)
		if ctx.Err() != nil {
			fmt.Fprintf(os.Stderr, "\nstopped after %d of %d turns\n", i, len(all))
			break
		}
		result := newResult(t.work, t.entry, t.round, measured, err)
		if len(servers) > 1 {
			result.Server = t.server.name
		}
		results = append(results, result)
		fmt.Fprintf(os.Stderr, "%4.0fs %3d/%d  round %d  %s\n", time.Since(began).Seconds(), i+1, len(all), t.round, result.line())
	}
	return results
}
