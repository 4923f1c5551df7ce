package gate

// traits is what a kind changes in a mutex.
type traits struct {
	acquire, release Op
	fenced           bool // grants have fencing tokens
	polls            bool // waiters poll: nobody publishes, nobody listens
	fair             bool // waiters stand in a queue in Redis
}

var traitsByKind = [...]traits{
	MutexKind:  {acquire: Acquire, release: Release},
	FencedKind: {acquire: AcquireFenced, release: Release, fenced: true},
	SpinKind:   {acquire: Acquire, release: ReleaseQuietly, polls: true},
	FairKind:   {acquire: FairAsk, release: FairRelease, fair: true},
}

func (m *Mutex) traits() *traits { return &traitsByKind[m.Kind] }

// TokenBlock is how many fencing tokens a tenure has: one for each grant by which it is handed on. Re-entry
// takes none. A tenure whose tokens are used up is freed and taken anew.
const TokenBlock = 64

// tokens are those a tenure has left.
type tokens struct{ next, last int64 }

func (t *tokens) left() bool { return t.next <= t.last }

// fence gives the tenure its block: the numbers that end at last.
func (m *Mutex) fence(last int64) {
	if m.traits().fenced {
		m.contended().tokens = tokens{last - TokenBlock + 1, last}
	}
}

// fenced reports whether the tenure may be handed to w as far as tokens go. A swap has none to give.
func (m *Mutex) fenced(w *Waiter) bool {
	return !m.traits().fenced || m.contention.tokens.left() && w.fits(&m.t.Tenure)
}
