package engine

type Mutex struct{ next step }

func (m *Mutex) Lock(fails bool) {
	m.next.do()
	if fails {
		fail()
	}
}
