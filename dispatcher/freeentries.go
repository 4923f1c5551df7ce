package dispatcher

import "github.com/wheellock/wheellock/internal/gate"

// spare keeps cells whose names have become idle: most names live for one lock only.
type spare struct{ cells []*gate.Cell }

// maxSpare bounds what is kept: half a megabyte.
const maxSpare = 2048

func (s *spare) keep(c *gate.Cell) {
	if len(s.cells) < maxSpare {
		s.cells = append(s.cells, c)
	}
}

func (s *spare) cell(name string, kind gate.Kind, cfg *gate.Config) *gate.Cell {
	last := len(s.cells) - 1
	if last < 0 || s.cells[last].Kind != kind {
		return gate.NewCell(name, kind, cfg)
	}
	c := s.cells[last]
	s.cells = s.cells[:last]
	c.Renew(name, cfg)
	return c
}
