package explore

import (
	"cmp"
	"reflect"
	"slices"
	"unsafe"
)

// follower takes what stands at an address.
type follower func(h *hasher, at unsafe.Pointer)

// hashed takes what v points to.
func hashed[T any](h *hasher, v *T) { h.follower(reflect.TypeFor[T]())(h, unsafe.Pointer(v)) }

// follower is that of the values of a type. It is made once: a search follows the same few types millions of times.
func (h *hasher) follower(t reflect.Type) follower {
	made := h.followers[t]
	if made == nil {
		h.followers[t] = func(h *hasher, at unsafe.Pointer) { made(h, at) } // a type may lead to itself
		made = h.followerOf(t)
		h.followers[t] = made
	}
	return made
}

// numbers are the kinds whose values mean nothing but themselves.
var numbers = map[reflect.Kind]follower{
	reflect.Int8: number[int8], reflect.Int16: number[int16], reflect.Int32: number[int32],
	reflect.Uint: number[uint], reflect.Uint8: number[uint8], reflect.Uint16: number[uint16], reflect.Uint32: number[uint32],
	reflect.Uintptr: number[uintptr],
}

func (h *hasher) followerOf(t reflect.Type) follower {
	if opaque[t] && t.Kind() != reflect.Pointer {
		return func(*hasher, unsafe.Pointer) {}
	}
	if plain := numbers[t.Kind()]; plain != nil {
		return plain
	}
	switch t.Kind() {
	case reflect.Bool:
		return func(h *hasher, at unsafe.Pointer) { h.bytes = append(h.bytes, byte(bit(*(*bool)(at)))) }
	case reflect.Int:
		if t == reflect.TypeFor[age]() {
			return func(h *hasher, at unsafe.Pointer) { h.number(uint64(min(h.age-*(*age)(at), h.most))) } // how long ago
		}
		return number[int]
	case reflect.Int64:
		return func(h *hasher, at unsafe.Pointer) { h.time(*(*int64)(at)) }
	case reflect.Uint64:
		return func(h *hasher, at unsafe.Pointer) {
			if n := *(*uint64)(at); n >= firstID && n < serverEpoch {
				h.id(h.engine, n)
			} else {
				h.number(n)
			}
		}
	case reflect.String:
		return func(h *hasher, at unsafe.Pointer) { h.text(*(*string)(at)) }
	case reflect.Pointer:
		return func(h *hasher, at unsafe.Pointer) { h.pointer(*(*unsafe.Pointer)(at), t) }
	case reflect.Interface:
		return func(h *hasher, at unsafe.Pointer) {
			switch v := reflect.NewAt(t, at).Elem().Elem(); v.Kind() {
			case reflect.Invalid:
				h.number(0)
			case reflect.Pointer:
				h.pointer(v.UnsafePointer(), v.Type())
			default:
				h.value(v)
			}
		}
	case reflect.Struct:
		return h.fields(t)
	case reflect.Slice:
		item, size := h.follower(t.Elem()), t.Elem().Size()
		return func(h *hasher, at unsafe.Pointer) {
			all := *(*[]byte)(at) // only its beginning and its length are used
			h.items(unsafe.Pointer(unsafe.SliceData(all)), len(all), item, size)
		}
	case reflect.Array:
		item, size := h.follower(t.Elem()), t.Elem().Size()
		return func(h *hasher, at unsafe.Pointer) { h.items(at, t.Len(), item, size) }
	case reflect.Map:
		return func(h *hasher, at unsafe.Pointer) { h.entries(reflect.NewAt(t, at).Elem()) }
	case reflect.Func: // delayed events: their text tells
		return func(*hasher, unsafe.Pointer) {}
	}
	panic("explore: cannot hash a " + t.String())
}

func number[T int | int8 | int16 | int32 | uint | uint8 | uint16 | uint32 | uintptr](h *hasher, at unsafe.Pointer) {
	h.number(uint64(*(*T)(at)))
}

// value takes one that may have no address.
func (h *hasher) value(v reflect.Value) {
	copied := reflect.New(v.Type())
	copied.Elem().Set(v)
	h.follower(v.Type())(h, copied.UnsafePointer())
}

// items takes those of a slice or an array.
func (h *hasher) items(at unsafe.Pointer, n int, item follower, size uintptr) {
	h.number(uint64(n))
	for i := range n {
		item(h, unsafe.Add(at, uintptr(i)*size))
	}
}

// fields takes one field after the other.
func (h *hasher) fields(t reflect.Type) follower {
	type field struct {
		offset uintptr
		follow follower
	}
	fields := make([]field, t.NumField())
	for i := range fields {
		fields[i] = field{t.Field(i).Offset, h.follower(t.Field(i).Type)}
	}
	return func(h *hasher, at unsafe.Pointer) {
		for i := range fields {
			fields[i].follow(h, unsafe.Add(at, fields[i].offset))
		}
	}
}

// pointer takes a pointer of type t: what it points to, when it is met first.
func (h *hasher) pointer(to unsafe.Pointer, t reflect.Type) {
	if opaque[t] || to == nil {
		h.number(bit(to != nil))
		return
	}
	at := object{uintptr(to), t}
	if n, met := h.met[at]; met {
		h.number(uint64(n))
		return
	}
	h.met[at] = uint32(len(h.met) + 2)
	h.number(1)
	h.follower(t.Elem())(h, to)
}

// entries takes a map in the order of its keys.
func (h *hasher) entries(v reflect.Value) {
	keys := v.MapKeys()
	h.number(uint64(len(keys)))
	if len(keys) > 1 {
		switch keys[0].Kind() {
		case reflect.String:
			slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		case reflect.Uint64:
			slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.Uint(), b.Uint()) })
		case reflect.Pointer: // holds: in the order of their tenures
			slices.SortFunc(keys, func(a, b reflect.Value) int {
				return cmp.Compare(a.Elem().FieldByName("Tenure").Uint(), b.Elem().FieldByName("Tenure").Uint())
			})
		}
	}
	for _, k := range keys {
		h.value(k)
		h.value(v.MapIndex(k))
	}
}
