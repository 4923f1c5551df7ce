// Package rivals puts other lock libraries and the engine under the same faults, side by side, and counts what happens
// to each. It gives no verdict: next to each figure is what the library promises (entries.go).
//
// A rival is a library behind one small interface (rival.go), with the settings that its authors advise, the engine
// included (wheellock.go, rueidislock.go, redislock.go, redsync.go). Two of them leave renewals to their users;
// careful.go is the loop that a careful user writes.
//
// Each row is one fault: calls cancelled (cancels.go), connections cut and answers swallowed (cuts.go), holders
// partitioned (partitions.go), keys deleted (deletes.go), waiters' connections killed (strands.go). Every rival has a
// redis-server and proxies of its own (field.go). orphans.go looks for keys that nobody holds; pace.go records when
// this process itself did not run. report.go prints.
package rivals
