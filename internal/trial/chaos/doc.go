// Package chaos runs the engine in many processes against a real redis-server, breaks connections, servers and
// processes, and judges what every process observed.
//
// Clients are child processes: the test binary again (client.go, work*.go, edge.go). Each reports its calls and their
// answers, with times of CLOCK_MONOTONIC, which all processes of a machine share. A report is a record (record.go) in a
// pipe (process.go), one write each, so that a kill -9 loses no finished record. Fenced holders write to a resource in
// another process (resource.go), which accepts only growing tokens.
//
// A phase (phase.go) is a server, some clients, and a set of faults (faults*.go) that strike at random moments. After
// it comes a recovery period, in which every waiter must be served (quiet.go). Faults that take several steps have
// files of their own: outage.go, refusal.go, edge.go, foreign.go, publisher.go; fleet.go strikes who is first in line, and judges what
// that does to the others. Every oracle judges the history (history.go),
// by the rules of package judge or by one of chaos alone: exclusion.go, tokens.go, stay.go, models.go (porcupine), errors.go, order.go, liveness.go, notice.go, and those in outage.go,
// edge.go and foreign.go (judge.go calls them). usage.go measures what clients take of the machine, and kills one that
// takes too much. pulse.go records when Redis itself stood still; report.go sums up.
//
// A soak (soak.go, worksoak.go) is one long phase with mild faults. Its clients report what they take of the machine
// (gauge.go) and not their calls; flat.go judges whether that grew.
//
// A seed repeats the calls and the faults of a run. It cannot repeat the schedule of a real machine.
package chaos
