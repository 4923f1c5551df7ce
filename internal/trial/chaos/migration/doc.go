// Package migration has fleets of processes change from another lock library to the engine while they work, as docs/MIGRATING.md says, and
// counts how often two were in a critical section at once. The Go code on that page is the code of these tests.
package migration
