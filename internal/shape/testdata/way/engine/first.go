package engine

import "io"

type first struct{ to io.Writer }

func (f first) do() {
	now()
	f.to.Write(nil)
}
