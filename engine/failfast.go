package engine

import (
	"errors"
	"maps"
	"slices"
	"sync"
)

// fastCalls are the calls for several locks that do not wait while too much of them is out of reach: those that have a member of this engine.
// A call for one lock is told by its gate.
type fastCalls struct {
	mu    sync.Mutex
	calls map[*compositeCall]struct{}
}

// errCutOff ends the context of such a call.
var errCutOff = errors.New("wheellock: out of reach")

// watchLinks ends the call now, or later, when too much of its lock is out of reach.
func (c *compositeCall) watchLinks() {
	keys, _ := c.lock.keys()
	for _, k := range keys {
		k.e.fast.mu.Lock()
		if k.e.fast.calls == nil {
			k.e.fast.calls = make(map[*compositeCall]struct{})
		}
		k.e.fast.calls[c] = struct{}{}
		k.e.fast.mu.Unlock()
	}
	c.watched = keys
	c.endIfCutOff()
}

// forgetLinks is the end of watchLinks.
func (c *compositeCall) forgetLinks() {
	for _, k := range c.watched {
		k.e.fast.mu.Lock()
		delete(k.e.fast.calls, c)
		k.e.fast.mu.Unlock()
	}
}

func (c *compositeCall) endIfCutOff() {
	if c.lock.cutOff() {
		c.cancel(errCutOff)
	}
}

// endCutOff ends the calls for which too much is out of reach. The dispatcher calls it when a node of it turns out to be: it does not block.
func (e *Engine) endCutOff() {
	e.fast.mu.Lock()
	defer e.fast.mu.Unlock()
	if len(e.fast.calls) == 0 || !e.enter() {
		return
	}
	calls := slices.Collect(maps.Keys(e.fast.calls))
	go func() {
		defer e.leave()
		for _, c := range calls {
			c.endIfCutOff()
		}
	}()
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
