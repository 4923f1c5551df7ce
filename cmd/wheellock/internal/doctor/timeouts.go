package doctor

import "fmt"

// timeouts judges which connections the server closes, and which it keeps.
func timeouts(n *node) []Finding {
	var f findings
	idle, alive := n.configured("timeout"), n.configured("tcp-keepalive")
	what := fmt.Sprintf("timeout is %d: the server closes connections that were idle for so many seconds", idle)
	// Engines use or ask each of their connections once a second. Of eight TryLocks that were 1.5 to 4.3 s apart, one got
	// ErrUncertain with a timeout of 1, and none with 2 (redis-server 7.0.15).
	switch {
	case idle == 1:
		f.add(Warning, what, "It closes those of engines, too: a TryLock or an Unlock at that moment gets ErrUncertain.", set("timeout", 0))
	case idle > 0 && idle < 10:
		f.add(Note, what, "An engine whose process was stopped for so long must connect again.", set("timeout", 0))
	}
	if alive == 0 {
		f.add(Note, "tcp-keepalive is 0: the server keeps connections of clients that have vanished",
			"They count for maxclients. Those that listen count as waiters of other processes, to which engines give turns.", set("tcp-keepalive", 60))
	}
	return f
}
