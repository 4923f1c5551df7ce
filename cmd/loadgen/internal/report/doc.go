// Package report makes one account of the samples of all processes of a run. collector.go adds up the samples, live.go shows each second
// while the run lasts, result.go is the whole account, and table.go prints it in lines that fit (wrap.go). file.go keeps results as JSON.
//
// metric.go gives the figures names. By these threshold.go compares one with a limit, spread.go looks at several runs of one load, and
// compare.go sets two loads side by side.
package report
