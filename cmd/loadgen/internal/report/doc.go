// Package report makes one account of the samples of all processes of a run. collector.go adds up the samples, live.go
// shows each second while the run lasts, result.go is the whole account, also as JSON, and table.go prints it.
package report
