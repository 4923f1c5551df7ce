package engine

import "github.com/wheellock/wheellock/dispatcher/gate"

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
