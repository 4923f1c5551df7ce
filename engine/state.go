package engine

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// State is what Redis has for a lock. Its JSON names are part of the API. Durations are nanoseconds in JSON.
type State struct {
	Locked  bool          `json:"locked"`         // an owner has the lock
	Ours    bool          `json:"ours"`           // the owner is a tenure of this engine
	Owner   string        `json:"owner"`          // the owner field: the TenureID of a Hold, if it is one of an engine
	OwnerID OwnerID       `json:"owner_id"`       // its parts; zero if it does not have the usual form
	Count   int           `json:"count"`          // the owner's hold count in Redis: 1 for an engine's: its re-entries are counted in the process
	TTL     time.Duration `json:"ttl"`            // what the lease has left; negative: the key has no TTL
	Token   int64         `json:"token"`          // of a fenced lock: no token that was given is higher; an engine takes 64 at once, for holds that follow without Redis
	Kind    Kind          `json:"kind"`           // what the keys in Redis look like, see Inspect; empty: nothing, or nothing that is known
	Since   time.Time     `json:"since,omitzero"` // when the oldest hold of this process was granted, to 0.1 s; zero unless Ours
	Note    string        `json:"note,omitempty"` // what the owner says that it is for: see WithNote
}

// Inspect asks Redis for the owner of the lock. It does not pass through the lock's own queue, so its answer may be older than
// that of a Lock that has returned meanwhile. If ctx has no deadline, it waits for [Options].AnswerTimeout. Errors are
// those of the group [ErrUnavailable], [ErrForeignKey], [ErrInvalid] and [ErrClosed]. Of a lock that is held it asks for the note next.
//
// State.Kind is the kind that was found, whatever kind the handle is of. A read-write lock shows by its mode, a fenced
// lock by its counter, and a fair lock by its queue, that is while callers wait for it. The keys of a Mutex, a SpinMutex
// and a FairMutex without waiters are the same; then Kind is that of the handle. With ErrForeignKey, Kind says what has
// the key, if that is known: a semaphore and a latch look the same, so neither is, nor is what a [SimpleMutex] finds to be a hash.
func (m *Mutex) Inspect(ctx context.Context) (State, error) {
	state, _, err := m.inspect(ctx, true)
	if state.Ours {
		key, _ := m.e.key(m.name, m.kind.machine())
		if since := m.e.dispatcher.Oldest(key); since != gate.Never {
			state.Since = m.e.clock.Time(since)
		}
	}
	if state.OwnerID.Client != "" && !state.OwnerID.Detached {
		state.Note = m.noteOf(ctx, state.Owner)
	}
	return state, err
}

// inspect is Inspect, with the owners that ForceUnlock frees. shape: the kind is wanted, too.
func (m *Mutex) inspect(ctx context.Context, shape bool) (State, []string, error) {
	t := m.operation("inspect")
	key, err := t.key()
	if err != nil {
		return State{}, nil, err
	}
	answers, err := direct(ctx, &t, func(c rueidis.Client) ([]rueidis.RedisResult, error) {
		keys := []string{key}
		if m.kind == fencedIndex {
			keys = append(keys, scripts.TokenKey(key))
		}
		script := &scripts.Inspect
		if m.kind == simpleIndex {
			script = &scripts.InspectSimple
		}
		commands := []rueidis.Completed{c.B().Eval().Script(script.Text).Numkeys(int64(len(keys))).Key(keys...).Build()}
		if shape {
			for _, key := range shapeKeys(key) {
				commands = append(commands, c.B().Type().Key(key).Build())
			}
		}
		return c.DoMulti(context.Background(), commands...), nil
	})
	if err != nil {
		return State{}, nil, err
	}
	state, owners, mode, err := m.state(&t, answers[0])
	if shape {
		state.Kind = m.found(state.Locked, mode, answers[1:])
	}
	return state, owners, err
}

// shapeKeys are the keys that tell kinds apart by their types: the lock's own, and what only one kind has.
func shapeKeys(key string) []string {
	return []string{key, scripts.FairQueue(key), scripts.TokenKey(key), scripts.PermitsKey(key)}
}

// found returns the kind of what has the name, by the types of shapeKeys and the mode of a read-write lock. A type that the
// user may not ask for is as good as none.
func (m *Mutex) found(locked bool, mode string, types []rueidis.RedisResult) Kind {
	is := func(i int, want string) bool {
		got, _ := types[i].ToString()
		return got == want
	}
	hash, text := is(0, "hash"), is(0, "string")
	switch {
	case mode != "":
		return Kind(mode) // KindRead, KindWrite
	case text && is(3, "zset"):
		return KindPermits
	case text && m.kind == simpleIndex:
		return KindSimple
	case is(1, "list"):
		return KindFair
	case (locked || hash) && is(2, "string") && m.kind != fairIndex:
		return KindFenced
	case hash && m.kind.machine() == gate.RWKind:
		return KindMutex
	case locked:
		return m.kind.text()
	}
	return ""
}

// state reads the answer of inspect.lua. mode is that of a read-write lock, also if m is none.
func (m *Mutex) state(t *operation, r rueidis.RedisResult) (_ State, owners []string, mode string, _ error) {
	parts, err := r.ToArray()
	if err != nil {
		return State{}, nil, "", t.unread(err)
	}
	if len(parts) < 3 {
		return State{}, nil, "", t.failed(ErrForeignKey)
	}
	code, _ := parts[0].AsInt64()
	if err := t.faulty(code); err != nil {
		return State{}, nil, "", err
	}
	ttl, _ := parts[1].AsInt64()
	token, _ := parts[2].AsInt64()
	state := State{Token: token}
	if ttl == -2 || len(parts) < 5 {
		return state, nil, "", nil
	}
	state.TTL = scripts.TTL(ttl)
	var fields fields
	for i := 3; i+1 < len(parts); i += 2 {
		name, _ := parts[i].ToString()
		value, _ := parts[i+1].ToString()
		fields = append(fields, field{name, value})
	}
	mode = fields.mode()
	if (mode != "") != (m.kind.machine() == gate.RWKind) {
		return State{}, nil, mode, &opError{doing: t.doing, name: t.name, err: ErrForeignKey, words: "it is a hash of another kind"}
	}
	if m.kind.machine() == gate.RWKind {
		state, owners = m.view(state, fields)
		return state, owners, mode, nil
	}
	state.set(m, fields[0])
	return state, []string{state.Owner}, "", nil
}

// view is what the lock looks like to a reader or to a writer, by Redisson's rules.
func (m *Mutex) view(state State, all fields) (State, []string) {
	mode := all.mode()
	var owners []string
	for _, f := range all {
		if f.name == "mode" {
			continue
		}
		writer := strings.HasSuffix(f.name, gate.WriterSuffix)
		if writer == (m.kind == writeIndex) && (!state.Locked || !state.Ours && m.number(f.name) != 0) {
			state.set(m, f)
		}
		if writer {
			owners = append([]string{f.name}, owners...)
		} else {
			owners = append(owners, f.name)
		}
	}
	if !state.Locked {
		return State{}, nil
	}
	if (mode == "write") != (m.kind == writeIndex) { // a reader's view of a writer that reads too: there is nothing to force
		owners = nil
	}
	return state, owners
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
func (s *State) set(m *Mutex, f field) {
	s.Locked, s.Owner = true, f.name
	s.OwnerID, _ = parseOwner(f.name)
	s.Count, _ = strconv.Atoi(f.value)
	s.Ours = m.number(f.name) != 0
}

// ForceUnlock frees the owner that it finds, and no later one. False means that there was none. If the owner is a hold
// of this engine, that hold ends with [ErrLost] before the key is freed. A hold of another process learns of it by its
// next renewal, or at once with [Options].WatchLoss.
//
// For a [RWMutex], the Reader's ForceUnlock frees all readers that it finds and no writer. The Writer's frees the
// writer with its own reads, and no reader. ctx and errors are as with Inspect and [Hold.Unlock].
func (m *Mutex) ForceUnlock(ctx context.Context) (bool, error) {
	return m.forceUnlock(ctx, func(string) bool { return true })
}

// ForceUnlockOwners is ForceUnlock of these owners alone, by their [State].Owner, so that a decision about a holder frees
// nobody else that has the lock by then. False means that none of them has it. No owner at all is [ErrInvalid].
func (m *Mutex) ForceUnlockOwners(ctx context.Context, owners ...string) (bool, error) {
	if len(owners) == 0 {
		t := m.operation("force-unlock")
		return false, t.failed(invalid("no owners: pass the State.Owner of an Inspect, or call ForceUnlock to free whoever has the lock"))
	}
	return m.forceUnlock(ctx, func(owner string) bool { return slices.Contains(owners, owner) })
}

func (m *Mutex) forceUnlock(ctx context.Context, meant func(owner string) bool) (bool, error) {
	_, owners, err := m.inspect(ctx, false)
	if err != nil {
		return false, err
	}
	t := m.operation("force-unlock")
	key, _ := m.e.key(m.name, m.kind.machine())
	freed := false
	for _, owner := range owners {
		if !meant(owner) {
			continue
		}
		_, err := t.confirm(ctx, ErrClosed, func(ack gate.Settler) bool {
			return m.e.dispatcher.Force(key, m.kind.machine(), owner, m.number(owner), ack)
		})
		if err != nil && (ctx.Err() != nil || !errors.Is(err, ErrLost)) { // lost: it went away by itself
			return freed, err
		}
		freed = freed || err == nil
	}
	return freed, nil
}
