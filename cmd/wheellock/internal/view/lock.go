// Package view has the commands that show locks: ls, show, force, top and watch.
//
// redis.go asks Redis, masters.go each master of a cluster, replica.go whether it is one, lock.go finds out what the keys of a name are,
// table.go is a list of locks, happening.go what has changed between two looks, and each command has a file.
package view

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/scripts"
)

// Lock is what Redis has for one name. Its JSON names are part of what --json promises.
type Lock struct {
	cli.Named
	Kind    engine.Kind `json:"kind"`              // empty: nobody holds it, or it is not known
	TTL     int64       `json:"ttl_ms,omitempty"`  // what the lease has left; -1: it has no end
	Owners  []Owner     `json:"owners,omitempty"`  // the readers of a read-write lock may be many: at most some hundred
	Holders int64       `json:"holders"`           // how many owners, or permits that are held
	Free    *int64      `json:"free,omitempty"`    // permits, or the number of a semaphore or latch
	Token   int64       `json:"token,omitempty"`   // no fencing token that was given is higher
	Waiting *int64      `json:"waiting,omitempty"` // processes that wait for it; nil: ls does not ask, or may not
	Queue   []Owner     `json:"queue,omitempty"`   // of a fair lock, or engines in line: the next one first, a thousand at most
	Queued  int64       `json:"queued,omitempty"`  // how long the queue or the line is
	Leader  string      `json:"leader,omitempty"`  // of an election: its leader
	Since   *time.Time  `json:"since,omitempty"`   // of an election: since when; of a fenced lock: since when its process has it
	Renewal string      `json:"renewal,omitempty"` // what a second look found
	Foreign string      `json:"foreign,omitempty"`
}

// Owner is one owner id, and the engine behind it.
type Owner struct {
	ID        string     `json:"id"`
	Count     int64      `json:"count,omitempty"` // the hold count
	Identity  string     `json:"identity,omitempty"`
	Address   string     `json:"address,omitempty"`         // of its oldest connection
	Connected *time.Time `json:"connected_since,omitempty"` // that connection
	Detached  bool       `json:"detached,omitempty"`        // nobody holds it any more: it stays taken until its lease is over, or somebody adopts it
	Note      string     `json:"note,omitempty"`            // what its hold says that it is for
}

// The patterns of an engine's id, and of what is behind the owners of its simple locks.
const uuid, salt = `[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`, `:[A-Z2-7]{26}`

// ownerField is an owner id of an engine or of Redisson: a UUID and a number; ":write" follows for a writer, and ":detached" for a
// name that stays taken without a holder. simpleOwner is the value of an engine's simple lock.
var (
	ownerField  = regexp.MustCompile(`^(` + uuid + `):[0-9]+(:write|:detached)?$`)
	simpleOwner = regexp.MustCompile(`^` + uuid + `:[0-9]+` + salt + `(:detached)?$`)
)

// ownerPattern is what all owner fields match, for Redis.
const ownerPattern = "????????-????-????-????-????????????:*"

// who returns the owner as people know it.
func (o *Owner) who() string {
	if o.Identity != "" {
		return o.Identity
	}
	return o.ID
}

// know adds what is known of the engine.
func (o *Owner) know(clients map[string]client) {
	id, _, _ := strings.Cut(o.ID, ":")
	if c := clients[id]; c.identity != "" {
		o.Identity, o.Address, o.Connected = c.identity, c.address, &c.since
	}
}

// channels are the channels to which its waiters are subscribed. If its kind is not known, these are the channels of all kinds.
func (l *Lock) channels() []string {
	switch l.Kind {
	case engine.KindRead, engine.KindWrite:
		return []string{scripts.RWChannel(l.Name)}
	case engine.KindPermits:
		return []string{scripts.SemaphoreChannel(l.Name)}
	case "":
		return []string{scripts.LockChannel(l.Name), scripts.RWChannel(l.Name), scripts.SemaphoreChannel(l.Name), scripts.LatchChannel(l.Name)}
	}
	return []string{scripts.LockChannel(l.Name)}
}

// queue returns the waiters for a fair lock, the next one first: a thousand at most.
func (r *redis) queue(ctx context.Context, name string) (queue []Owner) {
	ids, _ := r.Do(ctx, r.B().Lrange().Key(scripts.FairQueue(name)).Start(0).Stop(mostInQueue-1).Build()).AsStrSlice()
	for _, id := range ids {
		queue = append(queue, Owner{ID: id})
	}
	return queue
}

// processes is how many processes these owners are of.
func processes(owners []Owner) int64 {
	ids := make(map[string]bool)
	for i := range owners {
		id, _, _ := strings.Cut(owners[i].ID, ":")
		ids[id] = true
	}
	return int64(len(ids))
}

// held asks which of these keys are locks that somebody holds. Only of those that have an owner field other fields are read: the
// hashes of others may be large.
func (r *redis) held(ctx context.Context, keys []string) ([]*Lock, error) {
	owned, err := r.firstPages(ctx, keys, ownerPattern)
	if err != nil {
		return nil, err
	}
	all, err := r.firstPages(ctx, slices.Collect(maps.Keys(owned)), "*")
	if err != nil {
		return nil, err
	}
	var locks []*Lock
	for _, key := range keys {
		if l := lockOf(key, all[key]); l != nil {
			locks = append(locks, l)
		}
	}
	if err := r.complete(ctx, locks); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(locks, func(l *Lock) bool { return l.TTL == gone }), nil
}

// firstPages returns some of the fields of hashes that match a pattern, with their values, of hashes that have any.
func (r *redis) firstPages(ctx context.Context, keys []string, pattern string) (map[string][]string, error) {
	ask := make(rueidis.Commands, len(keys))
	for i, key := range keys {
		ask[i] = r.B().Hscan().Key(key).Cursor(0).Match(pattern).Count(100).Build()
	}
	pages := make(map[string][]string)
	for i, answer := range r.DoMulti(ctx, ask...) {
		page, err := answer.AsScanEntry()
		if rediserr.MayNotRun(err) { // of one lock
			page.Elements, err = r.allOf(ctx, keys[i])
		}
		switch message, _ := rediserr.Said(err); {
		case isRefused(err):
			r.unread++
		case err != nil && !strings.HasPrefix(message, "WRONGTYPE"): // it is of another type now
			return nil, unavailable(err)
		case len(page.Elements) > 0:
			pages[keys[i]] = page.Elements
		}
	}
	return pages, nil
}

// allOf returns all fields of a hash with their values.
func (r *redis) allOf(ctx context.Context, key string) (words []string, err error) {
	fields, err := r.Do(ctx, r.B().Hgetall().Key(key).Build()).AsStrMap()
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		words = append(words, field, fields[field])
	}
	return words, err
}

// gone is the TTL of a key that is there no more: its lock was freed between two questions.
const gone = -2

// lockOf reads fields and values of a hash; nil: it is no lock.
func lockOf(name string, words []string) *Lock {
	l := &Lock{Named: cli.NamedBy(name), Kind: engine.KindMutex}
	for i := 0; i+1 < len(words); i += 2 {
		field, value := words[i], words[i+1]
		count, err := strconv.ParseInt(value, 10, 64)
		switch {
		case field == "mode" && (value == "read" || value == "write"):
			l.Kind = engine.Kind(value)
		case err == nil && ownerField.MatchString(field):
			l.Owners = append(l.Owners, Owner{ID: field, Count: count, Detached: strings.HasSuffix(field, ":detached")})
		default:
			return nil
		}
	}
	if len(l.Owners) == 0 {
		return nil
	}
	return l
}

// complete asks what the other keys of held locks say.
func (r *redis) complete(ctx context.Context, locks []*Lock) error {
	const each = 5
	var ask rueidis.Commands
	for _, l := range locks {
		ask = append(ask,
			r.B().Pttl().Key(l.Name).Build(), r.B().Hlen().Key(l.Name).Build(), r.B().Hget().Key(l.Name).Field("mode").Build(),
			r.B().Get().Key(scripts.TokenKey(l.Name)).Build(), r.B().Llen().Key(scripts.FairQueue(l.Name)).Build())
	}
	answers := r.DoMulti(ctx, ask...)
	for i, l := range locks {
		a := answers[i*each : (i+1)*each]
		var err error
		if l.TTL, err = a[0].AsInt64(); err != nil {
			return unavailable(err)
		}
		l.Holders, _ = a[1].AsInt64()
		switch mode, _ := a[2].ToString(); mode { // which may be behind the page of its fields that held has read
		case "read", "write":
			l.Kind = engine.Kind(mode)
			l.Holders--
			continue
		}
		l.Token, _ = a[3].AsInt64()
		queued, _ := a[4].AsInt64()
		switch {
		case queued > 0:
			l.Kind = engine.KindFair
		case l.Token > 0:
			l.Kind = engine.KindFenced
		}
	}
	return nil
}

// notes asks for the notes of owners. One that may not be read is as good as none.
func (r *redis) notes(ctx context.Context, locks []*Lock) {
	var ask rueidis.Commands
	var owners []*Owner
	for _, l := range locks {
		for i := range l.Owners {
			owners = append(owners, &l.Owners[i])
			ask = append(ask, r.B().Get().Key(scripts.NoteKey(l.Name, l.Owners[i].ID)).Build())
		}
	}
	for i, answer := range r.DoMulti(ctx, ask...) {
		if note, err := answer.ToString(); err == nil {
			owners[i].Note = note
		}
	}
}

// lookAt asks what has these names, each of which gets a Lock.
func (r *redis) lookAt(ctx context.Context, names []string) ([]*Lock, error) {
	held, err := r.held(ctx, names)
	if all := r.notAll(ctx); err != nil && all != nil { // else the client says no more than that a time was over
		err = all
	}
	if err != nil {
		return nil, err
	}
	var others []*Lock
	locks := make([]*Lock, len(names))
	for i, name := range names {
		if at := slices.IndexFunc(held, func(l *Lock) bool { return l.Name == name }); at >= 0 {
			locks[i] = held[at]
		} else {
			locks[i] = &Lock{Named: cli.NamedBy(name)}
			others = append(others, locks[i])
		}
	}
	return locks, r.others(ctx, others, mostOfOne)
}

// inspect asks for all that there is of one name.
func (r *redis) inspect(ctx context.Context, name string) (*Lock, error) {
	locks, err := r.lookAt(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	l, clients := locks[0], r.clients(ctx)
	r.notes(ctx, locks)
	l.Queue = r.queue(ctx, name)
	l.Queued, _ = r.Do(ctx, r.B().Llen().Key(scripts.FairQueue(name)).Build()).AsInt64()
	queued, inLine := processes(l.Queue), int64(0)
	if l.Queued == 0 && l.mayHaveLine() {
		l.Queue, inLine = r.line(ctx, l)
		l.Queued = max(inLine, 0)
	}
	for _, owners := range [][]Owner{l.Owners, l.Queue} {
		for i := range owners {
			owners[i].know(clients)
		}
	}
	r.lead(ctx, l)
	if counts := r.subscribers(ctx, l.channels()); counts != nil {
		listeners := int64(0)
		for _, n := range counts {
			listeners += n
		}
		l.Waiting = l.waiting(max(listeners, queued), inLine)
	}
	return l, nil
}

// lead finds out since when the lock is held, and its leader, in case it is an election's.
func (r *redis) lead(ctx context.Context, l *Lock) {
	// The server takes tokens from its clock, in microseconds (scripts/tokens.lua). Redisson counts from 1.
	if since := time.UnixMicro(l.Token); l.Kind == engine.KindFenced && since.Year() >= 2020 && since.Before(time.Now()) {
		l.Since = &since
	}
	note, err := r.Do(ctx, r.B().Hmget().Key(scripts.LeaderKey(l.Name)).Field("owner", "identity", "since").Build()).AsStrSlice()
	if err != nil || len(l.Owners) == 0 || note[0] != l.Owners[0].ID {
		return
	}
	millis, err := strconv.ParseInt(note[2], 10, 64)
	if since := time.UnixMilli(millis); err == nil && since.Year() >= 0 && since.Year() <= 9999 { // JSON has no other
		l.Leader, l.Since = note[1], &since
	}
}

// The longest part of a string that is read, in bytes: of one of many, and of a single one, which force compares as a whole.
const (
	mostOfMany = 1024
	mostOfOne  = 1 << 20

	mostOfOwner = 127 // more than simpleOwner matches
)

// others finds out what has names that nobody holds as a lock. Of a string it reads so many bytes. The error may be that this user may not read
// some of them.
func (r *redis) others(ctx context.Context, locks []*Lock, most int64) error {
	const each = 5
	var ask rueidis.Commands
	for _, l := range locks {
		ask = append(ask,
			r.B().Type().Key(l.Name).Build(), r.B().Getrange().Key(l.Name).Start(0).End(most-1).Build(), r.B().Zcard().Key(scripts.PermitsKey(l.Name)).Build(),
			r.B().Get().Key(scripts.TokenKey(l.Name)).Build(), r.B().Pttl().Key(l.Name).Build())
	}
	answers, refused := r.DoMulti(ctx, ask...), error(nil)
	for i, l := range locks {
		a := answers[i*each : (i+1)*each]
		what, err := a[0].ToString()
		switch {
		case isRefused(err):
			r.unread++
			refused = unavailable(err)
			continue
		case err != nil:
			return unavailable(err)
		}
		value, err := a[1].ToString()
		if what == "string" && rediserr.MayNotRun(err) { // of one lock
			value, _ = r.Do(ctx, r.B().Get().Key(l.Name).Build()).ToString()
		}
		number, notNumber := strconv.ParseInt(value, 10, 64)
		switch {
		case what == "none":
		case what == "string" && (r.simple || simpleOwner.MatchString(value)):
			l.Kind, l.Holders = engine.KindSimple, 1
			l.Owners = []Owner{{ID: value, Detached: strings.HasSuffix(value, ":detached")}}
			l.TTL, _ = a[4].AsInt64()
		case what == "string" && notNumber == nil:
			l.Free = &number
			switch n, err := a[2].AsInt64(); {
			case isRefused(err): // it may be permits, and somebody hold them
				r.unread++
				refused = unavailable(err)
			case err == nil && n > 0:
				l.Kind, l.Holders = engine.KindPermits, n
			}
		default:
			l.Foreign = what
		}
		l.Token, _ = a[3].AsInt64()
	}
	return refused
}
