package engine

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/scripts"
)

// State is what stands in Redis for a lock.
type State struct {
	Locked bool
	Ours   bool          // the owner is a tenure of this engine
	Owner  string        // the owner field
	Count  int           // the owner's hold count in Redis: 1 for ours, whose re-entries are counted here
	TTL    time.Duration // what the lease has left; negative: it has no end
	Token  int64         // the last fencing token, when the lock is fenced
}

// Inspect asks Redis who has the lock. It passes by the lock's own queue, so its answer may be older than
// that of a Lock that returned meanwhile.
func (m *Mutex) Inspect(ctx context.Context) (State, error) {
	t := errand{e: m.e, name: m.name, doing: "inspect", kind: m.kind}
	r, err := t.query(ctx, func(b rueidis.Builder, key string) rueidis.Completed {
		keys := []string{key}
		if m.kind == gate.FencedKind {
			keys = append(keys, scripts.TokenKey(key))
		}
		return b.Eval().Script(scripts.Inspect.Text).Numkeys(int64(len(keys))).Key(keys...).Build()
	})
	if err != nil {
		return State{}, err
	}
	return m.state(r)
}

// state reads the answer of inspect.lua.
func (m *Mutex) state(r rueidis.RedisResult) (State, error) {
	parts, err := r.ToArray()
	if err != nil {
		return State{}, &opError{doing: "inspect", name: m.name, err: sentinels[dispatcher.Explain(err)], words: wordsOf(err)}
	}
	if len(parts) < 3 {
		return State{}, &opError{doing: "inspect", name: m.name, err: ErrForeignKey}
	}
	code, _ := parts[0].AsInt64()
	if fault := scripts.Reply(code).Fault(); fault != scripts.None {
		sentinel := ErrRefused
		if _, foreign := fault.Foreign(); foreign {
			sentinel = ErrForeignKey
		}
		return State{}, &opError{doing: "inspect", name: m.name, err: sentinel, words: fault.String()}
	}
	ttl, _ := parts[1].AsInt64()
	token, _ := parts[2].AsInt64()
	state := State{Token: token}
	if ttl == -2 || len(parts) < 5 {
		return state, nil
	}
	state.Locked, state.TTL = true, scripts.TTL(ttl)
	state.Owner, _ = parts[3].ToString()
	count, _ := parts[4].ToString()
	state.Count, _ = strconv.Atoi(count)
	state.Ours = m.e.number(state.Owner) != 0
	return state, nil
}

// ForceUnlock frees the owner it finds, and no later one; false: there was none. If that is a hold of this
// engine, it ends with ErrLost before the key is freed. A hold of another process learns of it by its next
// renewal, or at once with WatchLoss.
func (m *Mutex) ForceUnlock(ctx context.Context) (bool, error) {
	state, err := m.Inspect(ctx)
	if err != nil || !state.Locked {
		return false, err
	}
	key, _ := m.e.key(m.name)
	err = m.e.confirm(ctx, "force-unlock", m.name, ErrClosed, func(ack gate.Settler) bool {
		return m.e.dispatcher.Force(key, m.kind, state.Owner, m.e.number(state.Owner), ack)
	})
	switch {
	case err == nil:
		return true, nil
	case isLost(err): // it went away by itself
		return false, nil
	default:
		return false, err
	}
}
