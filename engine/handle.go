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

// Kind is the kind of a lock, as text: in [State], in what an [Observer] is told, and in log records. The texts are part
// of the API. An empty Kind means that the kind is not known.
type Kind string

// The kinds.
const (
	KindMutex     Kind = "mutex"
	KindFenced    Kind = "fenced"
	KindSpin      Kind = "spin"
	KindSimple    Kind = "simple"
	KindFair      Kind = "fair"
	KindRead      Kind = "read"  // the Reader of a RWMutex
	KindWrite     Kind = "write" // the Writer of a RWMutex
	KindSemaphore Kind = "semaphore"
	KindPermits   Kind = "permits" // a PermitSemaphore
	KindLatch     Kind = "latch"
	KindMulti     Kind = "multi"
	KindQuorum    Kind = "quorum"
)

// kindIndex is a Kind in one byte.
type kindIndex uint8

const (
	mutexIndex kindIndex = iota
	fencedIndex
	spinIndex
	simpleIndex
	fairIndex
	readIndex
	writeIndex
	rwIndex // a RWMutex itself, of which nobody takes anything but its Reader and its Writer
	semaphoreIndex
	permitsIndex
	latchIndex
	multiIndex
	quorumIndex
)

// kinds are what the kinds are called, and their machines.
var kinds = [...]struct {
	Kind
	noun    string
	machine gate.Kind
}{
	mutexIndex:     {KindMutex, "lock", gate.MutexKind},
	fencedIndex:    {KindFenced, "fenced lock", gate.FencedKind},
	spinIndex:      {KindSpin, "spin lock", gate.SpinKind},
	simpleIndex:    {KindSimple, "simple lock", gate.SimpleKind},
	fairIndex:      {KindFair, "fair lock", gate.FairKind},
	readIndex:      {KindRead, "read lock", gate.RWKind},
	writeIndex:     {KindWrite, "write lock", gate.RWKind},
	rwIndex:        {"rw", "read-write lock", gate.RWKind},
	semaphoreIndex: {KindSemaphore, "semaphore", gate.SemaphoreKind},
	permitsIndex:   {KindPermits, "permit semaphore", gate.PermitKind},
	latchIndex:     {KindLatch, "latch", gate.LatchKind},
	multiIndex:     {Kind: KindMulti, noun: "locks"},
	quorumIndex:    {KindQuorum, "quorum lock", gate.MutexKind},
}

func (k kindIndex) text() Kind         { return kinds[k].Kind }
func (k kindIndex) noun() string       { return kinds[k].noun }
func (k kindIndex) machine() gate.Kind { return kinds[k].machine }

// holds reports whether what is granted is a Hold.
func (k kindIndex) holds() bool { return k != semaphoreIndex && k != latchIndex }

// detachable reports whether a name of this kind can stay taken without a hold.
func (k kindIndex) detachable() bool { return k <= fairIndex }
