package gate

// waitState is the callers that wait for an answer about a name: for the lock, or for the end of its release. A process
// may hold a million names for which nobody waits, so that a Mutex borrows a waitState only while somebody does.
type waitState struct {
	queue Queue
	pendingAck
}

// noWaiters is the waitState of every mutex for which nobody waits. It is never written to.
var noWaiters waitState

// maxIdleWaitStates bounds those that are kept for the next names: 128 kB.
const maxIdleWaitStates = 2048

func (cfg *Config) takeWaitState() *waitState {
	last := len(cfg.idleWaitStates) - 1
	if last < 0 {
		return &waitState{}
	}
	c := cfg.idleWaitStates[last]
	cfg.idleWaitStates = cfg.idleWaitStates[:last]
	return c
}

func (cfg *Config) putWaitState(c *waitState) {
	if len(cfg.idleWaitStates) < maxIdleWaitStates {
		cfg.idleWaitStates = append(cfg.idleWaitStates, c)
	}
}
