package engine

import "context"

// Calls for several locks with WithFailFast end when too much of them is out of reach; a call for one lock is told by its gate. Engine.fast has the
// calls that have a member of the engine.

// watchLinks ends the call when too much of its lock is out of reach: now, or until forgetLinks.
func (c *compositeCall) watchLinks() {
	c.watched, _ = c.lock.keys()
	for _, k := range c.watched {
		k.e.fast.Store(c, nil)
	}
	c.endIfCutOff()
}

func (c *compositeCall) forgetLinks() {
	for _, k := range c.watched {
		k.e.fast.Delete(c)
	}
}

func (c *compositeCall) endIfCutOff() {
	if c.lock.cutOff() {
		c.cancel(ErrNotSent)
	}
}

// wasCutOff reports whether that has ended the call.
func (c *compositeCall) wasCutOff() bool {
	return c.watched != nil && context.Cause(c.ctx) == ErrNotSent
}

// endCutOff ends the calls for which too much is out of reach. The dispatcher calls it when a node turns out to be: it does not block.
func (e *Engine) endCutOff() {
	if e.enter() {
		go func() {
			defer e.leave()
			e.fast.Range(func(c, _ any) bool {
				c.(*compositeCall).endIfCutOff()
				return true
			})
		}()
	}
}

func (h *handle) cutOff() bool {
	key, err := h.e.key(h.name, h.kind.machine())
	return err == nil && h.e.dispatcher.Down(key)
}

func (s *several) cutOff() bool {
	lost := 0
	for _, l := range s.members {
		if l.cutOff() {
			lost++
		}
	}
	return lost > len(s.members)-s.need
}
