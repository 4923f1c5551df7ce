package gate

// machines has a function for each kind, which makes its machine.
var machines = [...]func() Machine{
	MutexKind: newLock, FencedKind: newLock, SpinKind: newLock, FairKind: newLock, RWKind: newRW,
	SemaphoreKind: newSequencer, LatchKind: newSequencer, PermitKind: newSequencer,
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
