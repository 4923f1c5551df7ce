package engine

import (
	"fmt"
	"log/slog"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// handle is the name of a lock as users have it, and how it shows in texts. The handle of each kind embeds one, so that
// fmt, slog and encoding/json show the kind and the name, and do not look into the engine.
type handle struct {
	e    *Engine
	name string
	kind kindIndex
}

// Name returns the name as it was given, before NameMapper.
func (h *handle) Name() string { return h.name }

// String names the kind and the lock.
func (h *handle) String() string { return h.kind.noun() + " " + quote(h.name) }

// Format is String for every verb. Without it fmt would look into the engine.
func (h *handle) Format(f fmt.State, _ rune) { fmt.Fprint(f, h.String()) }

// MarshalText is String, for JSON and others.
func (h *handle) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// LogValue is the name and the kind, for slog.
func (h *handle) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", h.name), slog.String("kind", string(h.kind.text())))
}

func (h *handle) home() *Engine { return h.e }

func (h *handle) keys() ([]lockKey, error) {
	t := h.operation("lock")
	key, err := t.key()
	if err != nil {
		return nil, err
	}
	return []lockKey{{h.e, key}}, nil
}

// operation says what is done to the name.
func (h *handle) operation(doing string) operation {
	return operation{e: h.e, name: h.name, doing: doing, kind: h.kind}
}

// failed is the error of a call that is to lock it.
func (h *handle) failed(err error) error { return &opError{doing: "lock", name: h.name, err: err} }

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
	if e.cluster != nil {
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
