package engine

import "context"

// Calls for several locks with WithFailFast end when too much of them is out of reach; a call for one lock is told by its gate. Engine.fast has the
// calls that have a member of the engine.

// links are those of which such a call needs enough.
type links struct {
	of     []lockKey
	cancel context.CancelCauseFunc // ends the call
}

// watchLinks returns a context for the call that ends when a node turns out to be out of reach and too little is left, until forgetLinks.
func (c *compositeCall) watchLinks(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	keys, _ := c.lock.keys()
	c.links = &links{keys, cancel}
	for _, k := range keys {
		k.e.fast.Store(c, nil)
	}
	return ctx
}

func (c *compositeCall) forgetLinks() {
	if c.links != nil {
		c.links.cancel(nil)
		for _, k := range c.links.of {
			k.e.fast.Delete(c)
		}
	}
}

func (c *compositeCall) endIfCutOff() {
	if c.links != nil && c.lock.cutOff() {
		c.links.cancel(ErrNotSent)
	}
}

// wasCutOff reports whether that has ended the call.
func (c *compositeCall) wasCutOff() bool { return c.links != nil && context.Cause(c.ctx) == ErrNotSent }

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
