// Package bench measures the engine's hot paths with testing.B, each on a redis-server of its own:
//
//	go test ./bench -bench .
//
// bench/peers, a module of its own, does the same work with rival libraries beside it; bench/redisson drives the
// Java original.
package bench
