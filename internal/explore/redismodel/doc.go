// Package redismodel is a Redis server for a state-space explorer: in memory, in one goroutine, without clock, chance or I/O.
//
// An Interpreter (interpreter.go) compiles scripts and runs them, by the Lua of gopher-lua with what Redis gives a script
// (library.go) and Redis's conversions (convert.go). A Server (server.go) is the keys, the commands on them (command.go holds the
// table; a file for each type) and the ways to refuse a write (refuse.go). Time is the field Micros: the caller turns it.
// Messages and subscribers are the caller's, too (pubsub.go).
//
// A Snapshot (snapshot.go) is all that a Server knows; taking one and going back to it cost a few nanoseconds, for values are
// copied when they are next written (keyspace.go). AppendState writes what stands as bytes that are equal for equal states.
//
// What it is not: no transactions, no cluster, no replication, no streams, and of each command no more than the tests compare
// with redis-server. A hash keeps the order in which its fields came, as Redis does with small ones.
//
// That it behaves as Redis does is what the duels show (duel_commands_test.go, duel_scripts_test.go): random commands and random
// calls of the scripts, on this and on a redis-server whose clock the test turns. At length, and against another server:
//
//	go test -run Duel -v ./redismodel -args -commands 100000 -calls 100000 -seed 1 -server /opt/redis-6.2/redis-server
//
// They know of these differences. With ".." a number of more than 14 digits is written in full, where C writes 14 digits and an
// exponent. Errors of Lua itself have other words, and the members of a set and the fields of a large hash another order. On a
// replica of Redis 6 scripts still see keys that have run out. Redis 8 deletes a key in the background at the beginning of the
// last millisecond in which it is found. Valkey makes no key of a SET that ends in the millisecond at hand.
package redismodel
