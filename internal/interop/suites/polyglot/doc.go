// Package polyglot proves that a SimpleMutex is a lock of redis-py, node-redlock, redislock and redsync too: its tests run the real
// libraries, each in a process of its own, beside engines of ours on one redis-server.
//
// driver.py has redis-py, driver.js node-redlock in two versions, drivers_test.go redislock, redsync and an engine that is to be killed.
// All obey these commands, in the protocol of bench/redisson/README.md; times are in ms:
//
//	lock NAME LEASE WAIT [TOKEN]  true or false; a lease of 0 has no end, a wait of 0 asks once; a token is HEX*TIMES
//	extend NAME                   by the lease from now on
//	unlock NAME
//	contend NAME CALLERS LASTS INSIDE LEASE
//	                              sections=N violations=N maxWaitMs=N: callers enter, look whether they are alone, sleep, extend and leave
//
// driver.py also obeys bench, for bench/peers.
//
// matrix_test.go holds what each library and ours must see of each other, tokens_test.go the same of values that nobody expects,
// death_test.go renewals and kill -9, contend_test.go exclusion and shares, quorum_test.go the majority of three servers.
//
// .ci/polyglot fetches the libraries and runs the tests. Elsewhere they are skipped.
package polyglot
