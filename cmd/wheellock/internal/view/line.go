package view

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/scripts"
)

// Engines that wait for a mutex, a read-write lock or permits stand in a line (scripts/line.lua). The member of a place is "<owner> <code>", and the code is a secret by
// which its engine is given the lock. So no member is passed on whole.

// placeInLine has the owner of a place. Another member of the line, which says since when the lock was given, is none.
var placeInLine = regexp.MustCompile(`^(` + uuid + `:[0-9]+(?::write|` + salt + `)?) [0-9]+$`)

// mostInQueue is how many places of a queue or a line are read.
const mostInQueue = 1000

// line returns the engines that stand in the line for a lock, the next one first, and how many they are.
func (r *redis) line(ctx context.Context, l *Lock) (places []Owner, n int64) {
	read := r.B().Zrange().Key(scripts.LineKey(l.Name)).Min("0").Max(strconv.Itoa(mostInQueue - 1)).Build()
	members, err := r.Do(ctx, read).AsStrSlice()
	if isRefused(err) {
		return nil, hidden
	}
	for _, member := range members {
		if m := placeInLine.FindStringSubmatch(member); m != nil {
			places = append(places, Owner{ID: m[1]})
		}
	}
	n = int64(len(places))
	if len(members) == mostInQueue {
		n = max(n, r.inLine(ctx, []*Lock{l})[0])
	}
	return places, n
}

// isRefused reports whether this user may not read a key.
func isRefused(err error) bool {
	message, _ := rediserr.Said(err)
	return strings.HasPrefix(message, "NOPERM")
}

// hidden is how many stand in a line that this user may not read.
const hidden = -1

// inLine returns how many engines stand in the line for each lock.
func (r *redis) inLine(ctx context.Context, locks []*Lock) []int64 {
	counts := make([]int64, len(locks))
	var ask rueidis.Commands
	var asked []int
	for i, l := range locks {
		if l.mayHaveLine() {
			key := scripts.LineKey(l.Name)
			ask = append(ask, r.B().Zcard().Key(key).Build(), r.B().Zrange().Key(key).Min("-1").Max("-1").Build())
			asked = append(asked, i)
		}
	}
	answers := r.DoMulti(ctx, ask...)
	for at, i := range asked {
		n, err := answers[2*at].AsInt64()
		if isRefused(err) {
			n = hidden
		} else if last, _ := answers[2*at+1].AsStrSlice(); len(last) == 1 && !placeInLine.MatchString(last[0]) {
			n--
		}
		counts[i] = n
	}
	return counts
}

// mayHaveLine reports whether engines stand in line for a lock of this kind. If its kind is not known, they may.
func (l *Lock) mayHaveLine() bool {
	return slices.Contains([]engine.Kind{engine.KindMutex, engine.KindFenced, engine.KindRead, engine.KindWrite, engine.KindPermits, engine.KindSimple, ""}, l.Kind)
}

// ownerInLine is an owner that gives the lock to the line: an engine, which has a UUID of version 8.
var ownerInLine = regexp.MustCompile(`^[0-9a-f]+-[0-9a-f]+-8[0-9a-f]+-[0-9a-f]+-[0-9a-f]+:[0-9]+(:write)?$`)

// mostLookedAt is how many owners of a lock an engine looks at that waits (MANY in scripts/line.lua).
const mostLookedAt = 16

// firstListens reports whether the first place in line listens to the lock's channel besides, because the owner does not give the lock to the
// line. Of permits it does so as soon as half a second has passed in which nobody called it.
func (l *Lock) firstListens() bool {
	switch {
	case l.Kind == engine.KindPermits:
		return true
	case l.Kind == engine.KindSimple || l.Foreign != "":
		return false
	}
	return len(l.Owners) == 0 || l.Holders > mostLookedAt || slices.ContainsFunc(l.Owners, func(o Owner) bool { return !ownerInLine.MatchString(o.ID) })
}

// waiting is how many processes wait for a lock: those that listen to its channels, and those that stand in its line; nil: it is not known.
func (l *Lock) waiting(listeners, inLine int64) *int64 {
	if inLine == hidden {
		return nil
	}
	if inLine > 0 && listeners > 0 && l.firstListens() {
		listeners--
	}
	n := listeners + inLine
	return &n
}

// countWaiting adds how many processes wait for each of these locks, as far as that is known.
func (r *redis) countWaiting(ctx context.Context, locks []*Lock) {
	var channels []string
	for _, l := range locks {
		channels = append(channels, l.channels()...)
	}
	if len(channels) == 0 {
		return
	}
	listeners, inLine := r.subscribers(ctx, channels), r.inLine(ctx, locks)
	if listeners == nil {
		return
	}
	for i, l := range locks {
		n := int64(0)
		for _, channel := range l.channels() {
			n += listeners[channel]
		}
		if l.Kind == engine.KindFair || l.Kind == "" {
			n = max(n, processes(r.queue(ctx, l.Name)))
		}
		l.Waiting = l.waiting(n, inLine[i])
	}
}
