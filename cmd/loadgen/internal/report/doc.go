// Package report makes one account out of what all processes of a run tell: collector.go adds up their
// samples, live.go shows each second while the run lasts, result.go is the whole account, also as JSON, and
// table.go prints it. units.go writes numbers for people.
package report
