package explore

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/wheel"
)

// hasher makes a number of a state that is the same for states alike: it follows every field of the gates, whatever they
// are called, and counts pointers in the order in which they are met.
type hasher struct {
	seed  maphash.Seed
	bytes []byte
	met   map[object]uint32
	now   int64
	age   age
}

// object is what a pointer points to; the first field of a struct is another one at the same address.
type object struct {
	at uintptr
	of reflect.Type
}

func newHasher() *hasher { return &hasher{seed: maphash.MakeSeed(), met: make(map[object]uint32)} }

// opaque are the types that are told otherwise, or make no difference.
var opaque = map[reflect.Type]bool{
	reflect.TypeFor[*gate.Config]():               true,
	reflect.TypeFor[*dispatcher.Encoder]():        true,
	reflect.TypeFor[*wheel.Slots[*gate.Waiter]](): true,
	reflect.TypeFor[*state]():                     true,
	reflect.TypeFor[*engine]():                    true,
	reflect.TypeFor[wheel.Entry[*gate.Cell]]():    true,
	reflect.TypeFor[wheel.Entry[*gate.Waiter]]():  true,
	reflect.TypeFor[gate.Effects]():               true,
	reflect.TypeFor[func(now gate.Time)]():        true,
}

// hash is the number of a state, with what may still happen.
func (h *hasher) hash(s *state) uint64 {
	h.bytes = h.bytes[:0]
	clear(h.met)
	h.now, h.age = s.now, s.age
	h.value(reflect.ValueOf(s.refusedAt))
	h.number(uint64(s.now % 1e6)) // what Redis does not see of it
	h.number(uint64(s.calls)<<40 | uint64(s.faults)<<20 | uint64(s.ticks))
	h.number(uint64(s.refusing))
	h.bytes = s.server.AppendRelative(h.bytes)
	h.value(reflect.ValueOf(s.counted))
	for i, e := range s.engines {
		h.number(e.cfg.LastID<<8 | uint64(e.cfg.Epoch))
		h.value(reflect.ValueOf(e).Elem())
		for _, channel := range sortedKeys(s.subscribers[i]) {
			h.text(channel)
		}
	}
	h.value(reflect.ValueOf(s.strays))
	for _, c := range s.callers {
		if c.finished() {
			h.number(uint64(c.call)<<8 | uint64(c.name))
		} else {
			h.value(reflect.ValueOf(c))
		}
	}
	return maphash.Bytes(h.seed, h.bytes)
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (h *hasher) number(n uint64) { h.bytes = binary.LittleEndian.AppendUint64(h.bytes, n) }

func (h *hasher) text(t string) {
	h.number(uint64(len(t)))
	h.bytes = append(h.bytes, t...)
}

func (h *hasher) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		h.bytes = append(h.bytes, byte(bit(v.Bool())))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32:
		if v.Type() == reflect.TypeFor[age]() {
			h.number(uint64(min(h.age-age(v.Int()), 16))) // how long ago, for World.Patience
			return
		}
		h.number(uint64(v.Int()))
	case reflect.Int64:
		h.time(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		h.number(v.Uint())
	case reflect.String:
		h.text(v.String())
	case reflect.Pointer:
		h.pointer(v)
	case reflect.Interface:
		if v.IsNil() {
			h.number(0)
			return
		}
		h.value(v.Elem())
	case reflect.Struct:
		h.fields(v)
	case reflect.Slice, reflect.Array:
		h.number(uint64(v.Len()))
		for i := range v.Len() {
			h.value(v.Index(i))
		}
	case reflect.Map:
		h.entries(v)
	case reflect.Func: // letters: their words tell
	default:
		panic("explore: cannot hash a " + v.Type().String())
	}
}

// time takes a number that may be a time of an engine's clock: what is left until then counts, so that states are alike
// that differ only in when they were reached. Those clocks show more than firstHour when a world begins, and no number that
// is not one of their times is as large, but for Never.
func (h *hasher) time(n int64) {
	if n >= int64(firstHour) && n < int64(firstHour)*maxEngines*2 {
		n = n%int64(firstHour) - h.now + 1<<60
	}
	h.number(uint64(n))
}

func (h *hasher) pointer(v reflect.Value) {
	if opaque[v.Type()] || v.IsNil() {
		h.number(bit(!v.IsNil()))
		return
	}
	at := object{v.Pointer(), v.Type()}
	if n, met := h.met[at]; met {
		h.number(uint64(n))
		return
	}
	h.met[at] = uint32(len(h.met) + 2)
	h.number(1)
	h.value(v.Elem())
}

func (h *hasher) fields(v reflect.Value) {
	t := v.Type()
	if opaque[t] {
		return
	}
	for i := range v.NumField() {
		h.value(v.Field(i))
	}
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

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
