// Package classes puts locks into classes by a function of the user, for the labels of metrics (contrib/prometheus, contrib/otel). There
// may be millions of names, and each label value is a time series for ever; so the number of classes is bounded, whatever that function
// does.
package classes

import (
	"maps"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/wheellock/wheellock/engine"
)

// Max is how many classes are told apart.
const Max = 100

// Classes that no function of a user made.
const (
	all     = "all"     // there is no such function
	invalid = "invalid" // it panicked, or returned what is not UTF-8
	other   = "other"   // there are Max classes already
)

// Classes have something of type S for each kind and class. Any goroutine may use it.
type Classes[S any] struct {
	of    func(name string) string // nil: all locks are of one class
	make  func(kind engine.Kind, class string) S
	known atomic.Pointer[map[label]S] // replaced when one is added, so that a look-up takes no mutex

	mu   sync.Mutex // guards seen, and that one at a time replaces known
	seen map[string]struct{}
}

type label struct {
	kind  engine.Kind
	class string
}

// New returns empty Classes. of is the function of the user, or nil; make is called once for each kind and class that was met.
func New[S any](of func(name string) string, make func(kind engine.Kind, class string) S) *Classes[S] {
	c := &Classes[S]{of: of, make: make, seen: map[string]struct{}{}}
	c.known.Store(&map[label]S{})
	return c
}

// Get returns what a lock has.
func (c *Classes[S]) Get(kind engine.Kind, name string) S {
	l := label{kind, c.class(name)}
	if s, known := (*c.known.Load())[l]; known {
		return s
	}
	return c.add(l)
}

// class calls the function of the user.
func (c *Classes[S]) class(name string) (class string) {
	if c.of == nil {
		return all
	}
	defer func() {
		if recover() != nil || !utf8.ValidString(class) {
			class = invalid
		}
	}()
	return c.of(name)
}

// add returns what a kind and class has that was not known, or what the class has that stands for too many.
func (c *Classes[S]) add(l label) S {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, seen := c.seen[l.class]; !seen && len(c.seen) >= Max {
		l.class = other
	}
	known := *c.known.Load()
	if s, added := known[l]; added {
		return s
	}
	s := c.make(l.kind, l.class)
	known = maps.Clone(known)
	known[l] = s
	c.known.Store(&known)
	c.seen[l.class] = struct{}{}
	return s
}
