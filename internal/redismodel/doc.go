// Package redismodel is a Redis server for a state-space explorer: in memory, in one goroutine, without clock, random
// choices or I/O.
//
// An Interpreter (interpreter.go) compiles scripts and runs them, with the Lua of gopher-lua, the functions that Redis
// gives a script (library.go), and Redis's conversions (convert.go). A Server (server.go) has the keys, the commands on
// them (command.go has the table; there is a file for each type) and the ways to refuse a write (refuse.go). Time is
// the field Micros, which the caller sets. Messages and subscribers are also the caller's (pubsub.go).
//
// A Snapshot (snapshot.go) is the whole state of a Server. Taking one and restoring it cost a few nanoseconds, because
// values are copied when they are next written (keyspace.go). AppendRelative (relative.go) writes the state as bytes that are equal for
// equal states.
//
// It has no transactions, cluster, replication or streams, and of Lua and each command only what scripts, engines and tests use. Of an error
// the class is Redis's, the words need not be. A hash keeps the order in which its fields were added, as Redis does with small ones.
//
// Two tests compare it with Redis (duel_commands_test.go, duel_scripts_test.go): they run random commands and random
// calls of the scripts on the model and on a redis-server whose clock the test sets. At length, and against another
// server:
//
//	go test -run Duel -v ./redismodel -args -commands 100000 -calls 100000 -seed 1 -server /opt/redis-8.0/redis-server
//
// They know of these differences. With ".." a number of more than 14 digits is written in full, where C writes 14
// digits and an exponent. Errors of Lua itself have other texts, and the members of a set and the fields of a large
// hash another order. On a replica of Redis 6 scripts still see expired keys. Redis 8 deletes a key in the background
// at the beginning of the last millisecond in which the key is found. Valkey creates no key for a SET that expires in
// the current millisecond.
package redismodel
