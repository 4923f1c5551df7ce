package main

import (
	"cmp"
	"slices"

	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// A Summary is all turns of one contestant at one work, on one server.
type Summary struct {
	Work       string `json:"work"`
	Contestant string `json:"contestant"`
	Server     string `json:"server,omitempty"` // where there are several
	Rounds     int    `json:"rounds"`           // that count
	Void       int    `json:"void"`             // that do not

	PairsPerSecond figures.Spread `json:"pairs_per_second"`
	Ratio          float64        `json:"ratio_to_base,omitempty"`    // of pairs/s, median of the rounds' own ratios
	OfCeiling      float64        `json:"ratio_to_ceiling,omitempty"` // likewise
	WaitP50        figures.Spread `json:"wait_p50_us"`
	WaitP99        figures.Spread `json:"wait_p99_us"`
	Median         Result         `json:"median"` // figure by figure
}

// summarize keeps the order of the works and, in each, of the turns. Ratios are taken round by round, between
// neighbours in time: what the machine did to one it did to the other. Where there are several servers they are against the
// same contestant on the first.
func summarize(results []Result, base string) []Summary {
	var summaries []Summary
	for _, r := range results {
		known := slices.ContainsFunc(summaries, func(s Summary) bool {
			return s.Work == r.Work && s.Contestant == r.Contestant && s.Server == r.Server
		})
		if !known {
			summaries = append(summaries, summarizeOne(results, r, base))
		}
	}
	return summaries
}

// summarizeOne takes the turns that are like one of them.
func summarizeOne(results []Result, like Result, base string) Summary {
	s := Summary{Work: like.Work, Contestant: like.Contestant, Server: like.Server}
	var turns []Result
	for _, r := range results {
		if r.Work != s.Work || r.Contestant != s.Contestant || r.Server != s.Server {
			continue
		}
		if r.Void != "" {
			s.Void++
			continue
		}
		turns = append(turns, r)
	}
	s.Rounds = len(turns)
	s.PairsPerSecond = spread(turns, func(r Result) float64 { return r.PairsPerSecond })
	s.WaitP50 = spread(turns, func(r Result) float64 { return r.Wait.P50 })
	s.WaitP99 = spread(turns, func(r Result) float64 { return r.Wait.P99 })
	if first := results[0].Server; first != "" {
		s.Ratio = medianRatio(results, turns, s.Contestant, first)
	} else {
		s.Ratio = medianRatio(results, turns, base, "")
	}
	s.OfCeiling = medianRatio(results, turns, pipelineEntry.name, s.Server)
	s.Median = medianResult(turns)
	return s
}

// medianRatio is that of pairs/s between these turns and those of a contestant on a server in the same rounds.
func medianRatio(results, turns []Result, contestant, server string) float64 {
	var ratios []float64
	for _, turn := range turns {
		i := slices.IndexFunc(results, func(r Result) bool {
			return r.Contestant == contestant && r.Server == server && r.Work == turn.Work && r.Round == turn.Round && r.Void == ""
		})
		if i >= 0 {
			ratios = append(ratios, turn.PairsPerSecond/results[i].PairsPerSecond)
		}
	}
	return figures.Median(ratios)
}

func spread(turns []Result, figure func(Result) float64) figures.Spread {
	var values []float64
	for _, r := range turns {
		values = append(values, figure(r))
	}
	return figures.SpreadOf(values)
}

// medianResult takes every figure's median by itself; failures and losses add up.
func medianResult(turns []Result) Result {
	m := figures.Medians(turns)
	m.Round, m.Lost, m.Failed, m.Failure = 0, 0, 0, ""
	for _, r := range turns {
		m.Lost += r.Lost
		m.Failed += r.Failed
		m.Failure = cmp.Or(m.Failure, r.Failure)
	}
	return m
}
