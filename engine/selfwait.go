package engine

import (
	"context"
	"reflect"
	"slices"
)

// nearest is the key under which a context finds the nearest context of a hold that it was derived from.
type nearest struct{}

// above returns the holds with which ctx ends, each of which was taken before those that precede it.
func above(ctx context.Context) (holds []*Hold) {
	for {
		at, _ := ctx.Value(nearest{}).(*holdContext)
		if at == nil || !endsWith(ctx, at) {
			return holds
		}
		holds = append(holds, at.h.inner())
		ctx = at.parent
	}
}

// waitsFor reports whether a call that waits for h, in the name of an Owner (0: none), and ends with these holds, can never be granted: one
// of them must end first. A permit may become free in other ways.
func (h *handle) waitsFor(holds []*Hold, owner uint64) bool {
	return h.kind != permitsIndex && slices.ContainsFunc(holds, func(held *Hold) bool { return held.keepsOut(h, owner) })
}

// keepsOut reports whether o cannot be granted to an Owner while h lasts. A hold of many locks looks at those of one name: a call may ask that
// for each of as many others.
func (h *Hold) keepsOut(o *handle, owner uint64) bool {
	if c := h.composite(); c != nil {
		return slices.ContainsFunc(c.named(o.name), func(part *Hold) bool { return part.keepsOut(o, owner) }) && h.Err() == nil
	}
	read := h.kind == readIndex && o.kind == readIndex
	reenters := owner != 0 && h.core.Owner() == owner
	return h.e == o.e && h.name == o.name && h.kind.machine() == o.kind.machine() && !read && !reenters && h.Err() == nil
}

// endsWith reports whether ctx surely ends when above does, from which it was derived. A context.WithoutCancel between them does not, and
// a type of the user might not. Package context keeps the parent of each other context in its field Context.
func endsWith(ctx context.Context, above *holdContext) bool {
	for ctx != above && ctx.Done() != above.Done() {
		v := reflect.Indirect(reflect.ValueOf(ctx))
		if v.Kind() != reflect.Struct || v.Type().PkgPath() != "context" || !v.FieldByName("Context").IsValid() {
			return false
		}
		ctx = v.FieldByName("Context").Interface().(context.Context)
	}
	return true
}

// selfWait is the error of a call that would wait for itself by its context.
func (h *handle) selfWait(doing string) error {
	return &opError{doing: doing, name: h.name, err: ErrDeadlock, words: "its context is that of a hold of this name: to re-enter, lock both times WithOwner"}
}

// waitsFor of several locks: so many members do that the others are not enough.
func (s *several) waitsFor(holds []*Hold, owner uint64) bool {
	if len(holds) == 0 {
		return false
	}
	spare := len(s.members) - s.need
	return slices.ContainsFunc(s.members, func(l Locker) bool {
		if l.waitsFor(holds, owner) {
			spare--
		}
		return spare < 0
	})
}
