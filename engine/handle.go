package engine

import (
	"fmt"
	"log/slog"
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
