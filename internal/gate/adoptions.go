package gate

import "slices"

// adoptions are the callers that want to take the place of an owner that stands in Redis, each under a fresh owner id. They do
// not stand in the queue: the name is not free, and nobody in the queue could have it instead. Each asks once.
type adoptions []*Waiter

// forget leaves out a caller that waits no longer. False: it is not among them.
func (as *adoptions) forget(w *Waiter) bool {
	i := slices.Index(*as, w)
	if i >= 0 {
		*as = slices.Delete(*as, i, i+1)
	}
	return i >= 0
}

// takeFor takes out the first that wants the place for which c asked, under t, or under one that is alike; nil: there is none.
func (as *adoptions) takeFor(c *Command, t *Tenure) *Waiter {
	i := slices.IndexFunc(*as, func(w *Waiter) bool {
		return w.Adopts == c.Args.Adopt().Owner && w.Lease == t.Lease && w.Watch == t.Watch && w.Least <= c.Lease
	})
	if i < 0 {
		return nil
	}
	w := (*as)[i]
	*as = slices.Delete(*as, i, i+1)
	return w
}
