// Package report makes one account of the samples of all processes of a run. collector.go adds up the samples, live.go shows each second
// while the run lasts, result.go is the whole account, and table.go prints it in lines that fit (wrap.go). file.go keeps results as JSON.
//
// metric.go gives the figures names. By these threshold.go compares one with a limit, spread.go looks at several runs of one load, and
// compare.go sets two results of one load side by side. schedule.go says whether an open loop kept its rate, and which step was the best.
//
// Latencies are in microseconds, shares from 0 to 1, sizes in bytes. A figure that was not measured is nil, never 0: a table shows
// "n/a" or "none", --fail does not let it pass, and a comparison gives it no verdict.
//
// Percentiles of several seconds or processes are never averaged. Each Sample carries whole histograms; they are added up, and the
// percentile is that of the sum.
package report
