// Package chaos runs the engine in many processes against a real redis-server, kills and stops servers and
// processes, and judges what every process observed.
//
// Clients are child processes: the test binary again (client.go, work*.go). Each reports its calls and their
// answers, with times of CLOCK_MONOTONIC, which all processes of a machine share. A report is a record (record.go) in a
// pipe (process.go), one write each, so that a kill -9 loses no finished record.
//
// A phase (phase.go, plans.go) is a server, some clients, and a set of faults of real processes (faults*.go, outage.go) that strike
// at random moments. What lies between them is not broken here: virtual time (internal/trial/bubble, engine/faults) does that at every
// byte. After the faults comes a recovery period, in which every waiter must be served (quiet.go). The oracles judge the history
// (history.go, judge.go): exclusion.go, tokens.go, errors.go, liveness.go, the outage in outage.go, and memory in usage.go, which
// also kills a client that takes too much. pulse.go records when Redis itself stood still.
//
// A soak (soak.go, worksoak.go) is one long phase with mild faults. Its clients report what they take of the machine
// (gauge.go) and not their calls; flat.go judges whether that grew.
//
// A seed repeats the calls and the faults of a run. It cannot repeat the schedule of a real machine.
package chaos
