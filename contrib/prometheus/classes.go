package wheelprom

import (
	"maps"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/wheellock/wheellock/engine"
)

// Classes that no Options.Class made.
const (
	everyClass   = "all"     // there is no Options.Class
	invalidClass = "invalid" // it panicked, or returned what is not UTF-8
	otherClass   = "other"   // there are MaxClasses already
)

// classes have the series of each kind and class. A look-up takes no mutex.
type classes struct {
	of    func(name string) string // nil: all locks are of one class
	make  func(engine.Kind, string) *series
	known atomic.Pointer[map[kindAndClass]*series] // replaced when one is added; nil: empty

	mu   sync.Mutex // guards the rest, and that one at a time replaces known
	seen map[string]struct{}
}

type kindAndClass struct {
	kind  engine.Kind
	class string
}

// series returns the series for a lock.
func (c *classes) series(kind engine.Kind, name string) *series {
	key := kindAndClass{kind, c.class(name)}
	if known := c.known.Load(); known != nil {
		if s := (*known)[key]; s != nil {
			return s
		}
	}
	return c.add(key)
}

// class calls the user's function.
func (c *classes) class(name string) (class string) {
	if c.of == nil {
		return everyClass
	}
	defer func() {
		if recover() != nil || !utf8.ValidString(class) {
			class = invalidClass
		}
	}()
	return c.of(name)
}

// add makes the series of a kind and class that is not known, or of the class that stands for too many.
func (c *classes) add(key kindAndClass) *series {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, seen := c.seen[key.class]; !seen && len(c.seen) >= MaxClasses {
		key.class = otherClass
	}
	known := make(map[kindAndClass]*series)
	if old := c.known.Load(); old != nil {
		if s := (*old)[key]; s != nil {
			return s
		}
		maps.Copy(known, *old)
	}
	if c.seen == nil {
		c.seen = make(map[string]struct{})
	}
	c.seen[key.class] = struct{}{}
	s := c.make(key.kind, key.class)
	known[key] = s
	c.known.Store(&known)
	return s
}
