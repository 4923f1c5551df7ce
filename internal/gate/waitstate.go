package gate

// waitState is the callers that wait for an answer about a name: for the lock, or for the end of its release. A process
// may hold a million names for which nobody waits, so that a Mutex borrows a waitState only while somebody does.
type waitState struct {
	queue Queue
	pendingAck
}

// noWaiters is the waitState of every mutex for which nobody waits. It is never written to.
var noWaiters waitState

// ownWaitState is the waitState of q, to be written to.
func (q *waiting) ownWaitState() *waitState {
	if q.waitState == &noWaiters {
		q.waitState = q.cfg.takeWaitState()
	}
	return q.waitState
}

// returnWaitState gives the waitState back when nobody waits. A fair lock keeps its own, with its queue.
func (q *waiting) returnWaitState() {
	c := q.waitState
	if c == &noWaiters || c.queue.head != nil || c.queue.fair != nil || c.ack != nil {
		return
	}
	q.waitState = &noWaiters
	q.cfg.putWaitState(c)
}

// owe has ack, which may be nil, hear of the release.
func (q *waiting) owe(ack Settler) {
	if ack != nil {
		q.ownWaitState().owe(ack)
	}
}

func (q *waiting) acknowledge(out Outcome) {
	if q.ack != nil {
		q.waitState.acknowledge(out)
	}
}

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
