package engine

import (
	"context"
	"sync"
)

// contexts abandons asynchronous requests when their context has ended. Requests that share a context share
// one entry, so that 100,000 of them cost one registration and no goroutine.
//
// A context may be of a user type. Its methods run neither under mu nor on the loop, which forgets requests and ends holds. So
// a backlog ends registrations.
type contexts struct {
	stopping backlog[registration] // to be ended

	mu     sync.Mutex // guards the rest
	groups map[<-chan struct{}]*group
}

// registration ends what context.AfterFunc has begun.
type registration func() bool

func (r registration) run() { r() }

// group is the requests that wait under one context.
type group struct {
	ctx   context.Context
	done  <-chan struct{} // of ctx
	stop  registration    // nil while it is being made
	over  bool            // it has left the map
	first *watched
}

// watched is a request's place in its group.
type watched struct {
	group      *group
	next, prev *watched
	by         endable // the request
}

// endable is a request that can be told the error of its context.
type endable interface{ ended(error) }

// watch abandons r when ctx ends.
func (c *contexts) watch(ctx context.Context, r *watched) {
	done := ctx.Done()
	if done == nil {
		return
	}
	if g, fresh := c.join(ctx, done, r); fresh {
		c.registered(g, context.AfterFunc(ctx, func() { c.end(g) }))
	}
}

// join puts r into the group of its context. fresh: the group was made for it.
func (c *contexts) join(ctx context.Context, done <-chan struct{}, r *watched) (g *group, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g = c.groups[done]
	if g == nil {
		g, fresh = &group{ctx: ctx, done: done}, true
		if c.groups == nil {
			c.groups = make(map[<-chan struct{}]*group)
		}
		c.groups[done] = g
	}
	r.group, r.next = g, g.first
	if g.first != nil {
		g.first.prev = r
	}
	g.first = r
	return g, fresh
}

// registered stores how to end the registration of g. If all requests of g were answered meanwhile, it ends the
// registration at once.
func (c *contexts) registered(g *group, stop func() bool) {
	c.mu.Lock()
	g.stop = stop
	over := g.over
	c.mu.Unlock()
	if over {
		stop()
	}
}

// forget takes r out of its group, if it is in one.
func (c *contexts) forget(r *watched) {
	var stop registration
	c.mu.Lock()
	if g := r.group; g != nil {
		if c.unlink(r); g.first == nil {
			c.drop(g)
			stop = g.stop // nil: the caller that makes the registration ends it
		}
	}
	c.mu.Unlock()
	if stop != nil {
		c.stopping.put(stop)
	}
}

func (c *contexts) unlink(r *watched) {
	if r.prev == nil {
		r.group.first = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	}
	r.group, r.next, r.prev = nil, nil, nil
}

func (c *contexts) drop(g *group) {
	g.over = true
	if c.groups[g.done] == g {
		delete(c.groups, g.done)
	}
}

// end abandons a group: its context has ended.
func (c *contexts) end(g *group) {
	ended := endedBy(g.ctx)
	for {
		c.mu.Lock()
		r := g.first
		if r == nil {
			c.drop(g)
			c.mu.Unlock()
			return
		}
		c.unlink(r)
		c.mu.Unlock()
		r.by.ended(ended)
	}
}
