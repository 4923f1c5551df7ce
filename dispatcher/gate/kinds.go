package gate

// machines make the machine of a kind.
var machines = [...]func() Machine{
	MutexKind: newMutex, FencedKind: newMutex, SpinKind: newMutex, FairKind: newMutex,
	SemaphoreKind: newSemaphore, LatchKind: newLatch, PermitKind: newPermits, RWKind: newRW,
}

// NewEntry makes the entry and the machine of a name.
func NewEntry(name string, kind Kind, cfg *Config) *Entry {
	m := machines[kind]()
	e := m.entry()
	e.Machine, e.Kind = m, kind
	e.Reuse(name, cfg)
	return e
}

// What each machine can do.
var (
	_ Forcible   = (*Mutex)(nil)
	_ Wantable   = (*Mutex)(nil)
	_ Detachable = (*Mutex)(nil)
	_ Forcible   = (*RW)(nil)
	_ Wantable   = (*RW)(nil)
	_ Lockable   = (*Permits)(nil)
	_ Counting   = (*Permits)(nil)
	_ Counting   = (*Semaphore)(nil)
	_ Counting   = (*Latch)(nil)
)
