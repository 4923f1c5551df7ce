package rivals

import "time"

// ghostAge is how long after a call's last word its key is looked for: time enough to clean up.
const orphanAge = 2 * time.Second

// orphans looks for keys that nobody holds.
type orphans struct {
	f        *field
	suspects chan suspect
	looked   chan struct{} // closed when all have been looked for
	found    []orphan      // then
	void     int           // suspects not looked for: the machine stood still, and their leases may be over
}

// A suspect is a name that nobody has, or ever will, as far as the callers were told.
type suspect struct {
	key   string
	began time.Time // its call
	since time.Time
	kind  int
}

// An orphan is a key of such a name. It blocks the name from since until the server says that it ends.
type orphan struct {
	suspect
	blocks time.Duration
}

func (f *field) watchOrphans() *orphans {
	g := &orphans{f: f, suspects: make(chan suspect, 1<<16), looked: make(chan struct{})}
	go g.look()
	return g
}

// look takes the suspects as they come, which is nearly in the order of their time.
func (g *orphans) look() {
	defer close(g.looked)
	for s := range g.suspects {
		time.Sleep(time.Until(s.since.Add(orphanAge)))
		answer := g.f.server.Do("PTTL", s.key)
		switch {
		case g.f.pace.stood(s.began) > tolerable:
			g.void++
		case answer.Err() != nil:
			g.f.t.Errorf("%s: %v", g.f.name, answer.Err())
		case answer.Int != -2: // -2: no such key
			g.found = append(g.found, orphan{s, time.Since(s.since) + time.Duration(answer.Int)*time.Millisecond})
		}
	}
}

// suspect says that nobody has the key from now on, after a call of a kind.
func (g *orphans) suspect(key string, began time.Time, kind int) {
	g.suspects <- suspect{key, began, time.Now(), kind}
}

// end waits until all have been looked for. stay is how many are there still after their lease: somebody renews them.
func (g *orphans) end() (stay int) {
	close(g.suspects)
	<-g.looked
	if len(g.found) == 0 {
		return 0
	}
	time.Sleep(g.f.lease)
	for _, s := range g.found {
		if g.f.server.Do("EXISTS", s.key).Int == 1 {
			stay++
		}
	}
	return stay
}

// blocks is for how long they block their names.
func (g *orphans) blocks() spread {
	var all []time.Duration
	for _, s := range g.found {
		all = append(all, s.blocks)
	}
	return spreadOf(all)
}

// ofKind counts those of a kind.
func (g *orphans) ofKind(kind int) (n int) {
	for _, s := range g.found {
		if s.kind == kind {
			n++
		}
	}
	return n
}
