package gate

// callers is who waits for an answer about a name: for the lock, or for the end of its release. A name that is just
// held has none, and holds are what there is a million of: a Mutex borrows its callers while it has some.
type callers struct {
	queue Queue
	ack   Settler // the Unlock that waits for the release
}

// nobody is the callers of every name that has none. It is never written to.
var nobody callers

// borrowed is m's callers, to be written to.
func (m *Mutex) borrowed() *callers {
	if m.callers == &nobody {
		m.callers = m.cfg.lend()
	}
	return m.callers
}

// rest gives the callers back when none are left. A fair lock keeps its own, with its line.
func (m *Mutex) rest() {
	c := m.callers
	if c == &nobody || c.queue.head != nil || c.queue.line != nil || c.ack != nil {
		return
	}
	m.callers = &nobody
	m.cfg.takeBack(c)
}

// owe has ack, which may be nil, hear of the release.
func (m *Mutex) owe(ack Settler) {
	if ack != nil || m.ack != nil {
		m.borrowed().ack = ack
	}
}

func (m *Mutex) acknowledge(out Outcome) {
	settle(m.ack, out)
	m.owe(nil)
}

// maxIdle bounds the callers that are kept for the next names: 128 kB.
const maxIdle = 2048

func (cfg *Config) lend() *callers {
	last := len(cfg.idle) - 1
	if last < 0 {
		return &callers{}
	}
	c := cfg.idle[last]
	cfg.idle = cfg.idle[:last]
	return c
}

func (cfg *Config) takeBack(c *callers) {
	if len(cfg.idle) < maxIdle {
		cfg.idle = append(cfg.idle, c)
	}
}
