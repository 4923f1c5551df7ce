// Package bubble runs whole engines in virtual time: engine, dispatcher, rueidis and timing wheel in a bubble of
// testing/synctest, on connections in memory (redisnet), against a model of Redis that runs the real scripts
// (redismodel).
//
// A World (world.go) is drawn from a seed: its plan (plan.go), its processes (process.go) with their callers
// (caller.go; locks.go, staying.go, permits.go and counts.go say what they do), and its faults (faults.go, faultkinds.go). A judge
// checks the holds all the time, by true time, which is the bubble's own (judge.go, deadlines.go, orphans.go, staying.go,
// wanted.go, tally.go). Every call has a bound (call.go). At the end all faults are repaired, and nothing may be left
// (recover.go); and the calls of all the time are brought before the rules of package judge that look back (history.go): tokens,
// order, and names that were free while somebody waited. record.go keeps the events, and prints them if something is wrong.
//
// With the build tag wheellock_stall, pauses.go delays goroutines of the engines at named points, stops processes and
// suspends machines, and clocks run at different speeds.
//
// A seed always draws the same world. What happens in it also depends on the order in which the runtime schedules
// goroutines, and on numbers that engines draw for themselves. With GOMAXPROCS=1, which the tests set, that is nearly
// always the same.
package bubble
