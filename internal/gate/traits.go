package gate

// traits is what a kind changes in a mutex.
type traits struct {
	acquire, release Op
	fenced           bool // grants have fencing tokens
	polls            bool // waiters poll: nobody publishes, nobody listens
	fair             bool // waiters stand in a queue in Redis
	claims           bool // a release can give it to a waiter of another engine
}

// acquires and releases report whether an operation is one of the kind's.
func (k *traits) acquires(op Op) bool { return op == k.acquire || op == AcquireClaim }
func (k *traits) releases(op Op) bool { return op == k.release || op == ReleaseClaim }

var traitsByKind = [...]traits{
	MutexKind:  {acquire: Acquire, release: Release, claims: true},
	FencedKind: {acquire: AcquireFenced, release: Release, fenced: true, claims: true},
	SpinKind:   {acquire: Acquire, release: ReleaseQuietly, polls: true},
	FairKind:   {acquire: FairAsk, release: FairRelease, fair: true, claims: true},
}

// TokenBlock is how many fencing tokens a tenure has: one for each grant by which it is handed on. Re-entry
// takes none. A tenure whose tokens are used up is freed and taken anew.
const TokenBlock = 64

// tokens are those a tenure has left.
type tokens struct{ next, last int64 }

func (t *tokens) left() bool { return t.next <= t.last }

func (e *Entry) traits() *traits { return &traitsByKind[e.Kind] }
