package engine

import (
	"context"
	"sync"
)

// contexts abandons asynchronous requests whose context has ended. Requests that share a context share
// one entry, so that 100,000 of them cost one registration and no goroutine.
type contexts struct {
	mu     sync.Mutex // guards the rest
	groups map[<-chan struct{}]*group
}

// group is the requests that wait under one context.
type group struct {
	ctx   context.Context
	stop  func() bool
	first *watched
}

// watched is a request's place in its group.
type watched struct {
	group      *group
	next, prev *watched
	by         endable // the request
}

// endable is a request, told that its context has ended.
type endable interface{ ended(context.Context) }

// watch abandons r when ctx ends.
func (c *contexts) watch(ctx context.Context, r *watched) {
	done := ctx.Done()
	if done == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.groups[done]
	if g == nil {
		g = &group{ctx: ctx}
		if c.groups == nil {
			c.groups = make(map[<-chan struct{}]*group)
		}
		c.groups[done] = g
		g.stop = context.AfterFunc(ctx, func() { c.end(g) })
	}
	r.group, r.next = g, g.first
	if g.first != nil {
		g.first.prev = r
	}
	g.first = r
}

// forget takes r out of its group, if it is in one.
func (c *contexts) forget(r *watched) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := r.group
	if g == nil {
		return
	}
	c.unlink(r)
	if g.first == nil {
		g.stop()
		c.drop(g)
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
	if c.groups[g.ctx.Done()] == g {
		delete(c.groups, g.ctx.Done())
	}
}

// end abandons a group whose context has ended.
func (c *contexts) end(g *group) {
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
		r.by.ended(g.ctx)
	}
}
