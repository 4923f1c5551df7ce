package load

import "github.com/wheellock/wheellock/engine"

// This is a file of its own because an older version has no limits: the test that builds this program with one leaves it out.

func init() {
	limit = func(e *engine.Engine, name string, n int) engine.Locker { return e.Limit(name, n) }
}
