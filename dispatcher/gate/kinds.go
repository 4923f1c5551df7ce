package gate

import "github.com/wheellock/wheellock/scripts"

// machines has a function for each kind, which makes its machine.
var machines = [...]func() Machine{
	MutexKind: newLock, FencedKind: newLock, SpinKind: newLock, FairKind: newLock, RWKind: newRW,
	SemaphoreKind: newSequencer, LatchKind: newSequencer, PermitKind: newSequencer, SimpleKind: newLock,
}

// channels has for each kind the channel on which a name becomes free for everybody.
var channels = [...]func(name string) string{
	MutexKind: scripts.LockChannel, FencedKind: scripts.LockChannel, SpinKind: scripts.LockChannel, FairKind: scripts.LockChannel,
	RWKind: scripts.RWChannel, SemaphoreKind: scripts.SemaphoreChannel, LatchKind: scripts.LatchChannel, PermitKind: scripts.SemaphoreChannel,
	SimpleKind: scripts.LockChannel,
}

// InLine reports whether engines that wait for such a name stand in a line in Redis.
func (k Kind) InLine() bool {
	return k == MutexKind || k == FencedKind || k == RWKind || k == SemaphoreKind || k == PermitKind || k == SimpleKind
}

// NewEntry makes the entry and the machine of a name.
func NewEntry(name string, kind Kind, cfg *Config) *Entry {
	m := machines[kind]()
	e := m.entry()
	e.Machine, e.Kind = m, kind
	e.Reuse(name, cfg)
	return e
}

// The further interfaces of the machines.
var (
	_ Forcible   = (*Lock)(nil)
	_ Wantable   = (*Lock)(nil)
	_ Detachable = (*Lock)(nil)
	_ Lockable   = (*Sequencer)(nil)
	_ Counting   = (*Sequencer)(nil)
)
