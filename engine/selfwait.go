package engine

import (
	"context"
	"reflect"
	"slices"
)

// nearest is the key under which a context finds the nearest context of a hold that it was derived from.
type nearest struct{}

// waitsForItself reports whether a call that waits under ctx for h, in the name of an Owner (0: none), can never be granted: ctx ends with
// a hold that must end first. A permit may become free in other ways.
func (h *handle) waitsForItself(ctx context.Context, owner uint64) bool {
	for h.kind.holds() && h.kind != permitsIndex {
		at, _ := ctx.Value(nearest{}).(*holdContext)
		switch {
		case at == nil, !endsWith(ctx, at):
			return false
		case at.h.inner().keepsOut(h, owner):
			return true
		}
		ctx = at.parent
	}
	return false
}

// keepsOut reports whether o cannot be granted to an Owner while h lasts.
func (h *Hold) keepsOut(o *handle, owner uint64) bool {
	if h.Err() != nil {
		return false
	}
	if c := h.composite(); c != nil {
		return slices.ContainsFunc(c.all(), func(part *Hold) bool { return part.keepsOut(o, owner) })
	}
	read := h.kind == readIndex && o.kind == readIndex
	reenters := owner != 0 && h.core.Owner() == owner
	return h.e == o.e && h.name == o.name && h.kind.machine() == o.kind.machine() && !read && !reenters
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

// waitsForItself of several locks: so many members do that the others are not enough.
func (s *several) waitsForItself(ctx context.Context, owner uint64) bool {
	if ctx.Value(nearest{}) == nil {
		return false
	}
	free := 0
	for _, l := range s.members {
		if !l.waitsForItself(ctx, owner) {
			free++
		}
	}
	return free < s.need
}
