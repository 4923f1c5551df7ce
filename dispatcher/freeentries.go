package dispatcher

import "github.com/wheellock/wheellock/internal/gate"

// freeEntries keeps entries whose names have become idle, for other names: most names live for one lock only.
type freeEntries struct{ entries []*gate.Entry }

// maxFreeEntries bounds what is kept: half a megabyte.
const maxFreeEntries = 2048

func (s *freeEntries) keep(c *gate.Entry) {
	if len(s.entries) < maxFreeEntries {
		s.entries = append(s.entries, c)
	}
}

func (s *freeEntries) entry(name string, kind gate.Kind, cfg *gate.Config) *gate.Entry {
	last := len(s.entries) - 1
	if last < 0 || s.entries[last].Kind != kind {
		return gate.NewEntry(name, kind, cfg)
	}
	c := s.entries[last]
	s.entries = s.entries[:last]
	c.Reuse(name, cfg)
	return c
}
