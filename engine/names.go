package engine

import (
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/scripts"
)

// maxName is how long a name may be, in bytes.
const maxName = 1024

// key is the key of a name in Redis.
func (e *Engine) key(name string, kind gate.Kind) (string, error) {
	if err := checkLength(name, "name"); err != nil {
		return "", err
	}
	key := name
	if e.opts.NameMapper != nil {
		key = e.opts.NameMapper(name)
		if err := checkLength(key, "key made by NameMapper"); err != nil {
			return "", err
		}
	}
	if of, is := scripts.Derived(key); is {
		return "", invalid("the key %s belongs to another name: it would be %s", quote(key), of)
	}
	if e.clusters != nil {
		return key, clustered(key, kind)
	}
	return key, nil
}

func checkLength(name, what string) error {
	if len(name) == 0 {
		return invalid("the %s is empty", what)
	}
	if len(name) > maxName {
		return invalid("the %s has %d bytes: at most %d", what, len(name), maxName)
	}
	return nil
}
