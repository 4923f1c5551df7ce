// Package bubble runs whole engines in virtual time: engine, dispatcher, rueidis and timing wheel in a bubble of testing/synctest,
// on connections in memory (redisnet), against a model of Redis that runs the real scripts (redismodel).
//
// A World (world.go) is drawn from a seed: its plan (plan.go), its processes (process.go) with their callers (caller.go; locks.go,
// permits.go, counts.go for what they do), and what befalls them (faults.go, faultkinds.go). A judge looks at holds all the time, on
// true time: the bubble's own (judge.go, deadlines.go, orphans.go, tally.go). Every call has a bound (call.go). At the end all is
// mended, and nothing may be left (recover.go). What happened is kept (record.go), and printed when something is wrong.
//
// With the build tag wheellock_stall goroutines of the engines are kept from running at named points, processes are stopped, and
// machines suspended (pauses.go); clocks run at different speeds. Without it they are not.
//
// A seed draws the same world each time; what happens in it depends on the order in which the runtime lets goroutines run, besides,
// and on numbers that engines draw for themselves. With GOMAXPROCS=1, which the tests set, that is nearly always the same.
package bubble
