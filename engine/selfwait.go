package engine

import (
	"context"
	"reflect"
	"slices"
)

// nearest is the key under which a context finds the nearest context of a hold that it was derived from.
type nearest struct{}

// waitsForItself reports whether a call that waits under ctx for what an Owner (0: none) is to lock can never be granted: ctx ends with
// a hold that must end first. A permit may become free in other ways.
func (o *operation) waitsForItself(ctx context.Context, owner uint64) bool {
	for o.kind.holds() && o.kind != permitsIndex {
		at, _ := ctx.Value(nearest{}).(*holdContext)
		switch {
		case at == nil, !endsWith(ctx, at):
			return false
		case at.h.keepsOut(o, owner):
			return true
		}
		ctx = at.parent
	}
	return false
}

// keepsOut reports whether o cannot be granted while h lasts.
func (h *Hold) keepsOut(o *operation, owner uint64) bool {
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
	for ctx != above {
		if ctx.Done() == above.Done() {
			return true
		}
		v := reflect.Indirect(reflect.ValueOf(ctx))
		if v.Kind() != reflect.Struct || v.Type().PkgPath() != "context" {
			return false
		}
		parent := v.FieldByName("Context")
		if !parent.IsValid() {
			return false
		}
		ctx = parent.Interface().(context.Context)
	}
	return true
}

// selfWait is the error of a call that would wait for itself by its context.
func (o *operation) selfWait() error {
	return &opError{doing: o.doing, name: o.name, err: ErrDeadlock, words: "its context is that of a hold of this name: to re-enter, lock both times WithOwner"}
}

func (h *handle) waitsForItself(ctx context.Context, owner uint64) bool {
	t := h.operation("lock")
	return t.waitsForItself(ctx, owner)
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
