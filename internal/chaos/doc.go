// Package chaos runs the engine in many processes against a real redis-server, breaks what lies between, behind
// and under them, and judges what every process saw.
//
// Clients are child processes: the test binary again (client.go, work*.go, edge.go). Each tells what it calls
// and what it is told, with times of CLOCK_MONOTONIC, which all processes of a machine share, as records
// (record.go) over a pipe (process.go), one write each: a kill -9 loses nothing of what was said. Fenced holders
// write to a resource in another process (resource.go) that takes growing tokens only.
//
// A phase (phase.go) is a server, some clients, and a set of faults (faults*.go) that strike at random moments;
// then a recovery period, in which nobody may be left behind (quiet.go). Faults that take several steps have files of their own:
// outage.go, refusal.go, edge.go, foreign.go. The history (history.go) goes before every oracle:
// exclusion.go, tokens.go, models.go (porcupine), errors.go, order.go, liveness.go, notice.go, and those in outage.go,
// edge.go and foreign.go (judge.go calls them). usage.go sees what clients take of the machine, and kills one that takes
// too much. pulse.go knows when Redis itself stood still; report.go sums up.
//
// A soak (soak.go, worksoak.go) is one long phase with mild faults. Its clients tell nothing of their calls, but what
// they take of the machine (gauge.go); flat.go judges whether that grew.
//
// What a run cannot repeat is the schedule of a real machine; its seed repeats what was called and what broke.
package chaos
