package engine

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/scripts"
)

// State is what Redis has for a lock.
type State struct {
	Locked bool          // an owner has the lock
	Ours   bool          // the owner is a tenure of this engine
	Owner  string        // the owner field: the TenureID of a Hold, if it is one of an engine
	Count  int           // the owner's hold count in Redis: 1 for an engine's, whose re-entries are counted in the process
	TTL    time.Duration // what the lease has left; negative: the key has no TTL
	Token  int64         // the last fencing token, if the lock is fenced
}

// Inspect asks Redis who has the lock. It does not pass through the lock's own queue, so its answer may be older than
// that of a Lock that has returned meanwhile. If ctx has no deadline, it waits for [Options].AnswerTimeout. Errors are
// those of the group [ErrUnavailable], [ErrForeignKey], [ErrInvalid] and [ErrClosed].
func (m *Mutex) Inspect(ctx context.Context) (State, error) {
	state, _, err := m.inspect(ctx)
	return state, err
}

// inspect is Inspect, with the owners that ForceUnlock frees.
func (m *Mutex) inspect(ctx context.Context) (State, []string, error) {
	t := operation{e: m.e, name: m.name, doing: "inspect", kind: m.kind}
	r, err := t.query(ctx, func(b rueidis.Builder, key string) rueidis.Completed {
		keys := []string{key}
		if m.kind == fencedIndex {
			keys = append(keys, scripts.TokenKey(key))
		}
		return b.Eval().Script(scripts.Inspect.Text).Numkeys(int64(len(keys))).Key(keys...).Build()
	})
	if err != nil {
		return State{}, nil, err
	}
	return m.state(r)
}

// state reads the answer of inspect.lua.
func (m *Mutex) state(r rueidis.RedisResult) (State, []string, error) {
	failed := func(err error, words string) (State, []string, error) {
		return State{}, nil, &opError{doing: "inspect", name: m.name, err: err, words: words}
	}
	parts, err := r.ToArray()
	if err != nil {
		words, _ := rediserr.Said(err)
		return failed(sentinels[rediserr.Explain(err)], words)
	}
	if len(parts) < 3 {
		return failed(ErrForeignKey, "")
	}
	code, _ := parts[0].AsInt64()
	if fault := scripts.Reply(code).Fault(); fault != scripts.None {
		sentinel := ErrRefused
		if _, foreign := fault.Foreign(); foreign {
			sentinel = ErrForeignKey
		}
		return failed(sentinel, fault.String())
	}
	ttl, _ := parts[1].AsInt64()
	token, _ := parts[2].AsInt64()
	state := State{Token: token}
	if ttl == -2 || len(parts) < 5 {
		return state, nil, nil
	}
	state.TTL = scripts.TTL(ttl)
	var fields fields
	for i := 3; i+1 < len(parts); i += 2 {
		name, _ := parts[i].ToString()
		value, _ := parts[i+1].ToString()
		fields = append(fields, field{name, value})
	}
	if (fields.mode() != "") != (m.kind.machine() == gate.RWKind) {
		return failed(ErrForeignKey, "the key is a hash of another kind")
	}
	if m.kind.machine() == gate.RWKind {
		return m.view(state, fields)
	}
	state.set(m.e, fields[0])
	return state, []string{state.Owner}, nil
}

// field is one of a lock's hash.
type field struct{ name, value string }

type fields []field

// mode is that of a read-write lock; empty for others.
func (fs fields) mode() string {
	for _, f := range fs {
		if f.name == "mode" {
			return f.value
		}
	}
	return ""
}

// set makes f the owner.
func (s *State) set(e *Engine, f field) {
	s.Locked, s.Owner = true, f.name
	s.Count, _ = strconv.Atoi(f.value)
	s.Ours = e.number(f.name) != 0
}

// ForceUnlock frees the owner that it finds, and no later one. False means that there was none. If the owner is a hold
// of this engine, that hold ends with [ErrLost] before the key is freed. A hold of another process learns of it by its
// next renewal, or at once with [Options].WatchLoss.
//
// For a [RWMutex], the Reader's ForceUnlock frees all readers that it finds and no writer. The Writer's frees the
// writer with its own reads, and no reader. ctx and errors are as with Inspect and [Hold.Unlock].
func (m *Mutex) ForceUnlock(ctx context.Context) (bool, error) {
	_, owners, err := m.inspect(ctx)
	if err != nil {
		return false, err
	}
	key, _ := m.e.key(m.name, m.kind.machine())
	freed := false
	for _, owner := range owners {
		err := m.e.confirm(ctx, "force-unlock", m.name, ErrClosed, func(ack gate.Settler) bool {
			return m.e.dispatcher.Force(key, m.kind.machine(), owner, m.e.number(owner), ack)
		})
		if err != nil && !isLost(err) { // lost: it went away by itself
			return freed, err
		}
		freed = freed || err == nil
	}
	return freed, nil
}
