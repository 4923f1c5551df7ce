package gate

// waitState is who waits for an answer about a name: for the lock, or for the end of its release. A name that is just
// held has none, and holds are what there is a million of: a Mutex borrows its callers while it has some.
type waitState struct {
	queue Queue
	pendingAck
}

// nobody is the callers of every name that has none. It is never written to.
var noWaiters waitState

// ownWaitState is m's callers, to be written to.
func (q *waiting) ownWaitState() *waitState {
	if q.waitState == &noWaiters {
		q.waitState = q.cfg.takeWaitState()
	}
	return q.waitState
}

// returnWaitState gives the callers back when none are left. A fair lock keeps its own, with its line.
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

// maxIdle bounds the callers that are kept for the next names: 128 kB.
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
