package gate

// Mutex is the machine of a reentrant lock.
//
// free -> asked when somebody wants in; asked -> ours when granted, -> free when refused (asking.go);
// ours -> ours by handing on (handoff.go); ours -> dead when the last hold ended; dead -> free when the release
// was answered (ending.go). The lease has its own type; here is who holds under it: who gets it next, who shares it by re-entry
// (reentry.go), and when it is left to others.
type Mutex struct {
	mutexLease
}

func newMutex() Machine { return &Mutex{} }

func (m *Mutex) reset(cfg *Config) {
	*m = Mutex{mutexLease{lock: lock{waiting{Entry: m.Entry, waitState: &noWaiters, cfg: cfg}}}}
	if m.traits().fair {
		m.ownWaitState().queue.fair = &fairQueue{}
	}
}
