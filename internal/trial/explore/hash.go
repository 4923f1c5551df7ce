package explore

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/wire"
	"github.com/wheellock/wheellock/wheel"
)

// hasher makes a number of a state that is the same for states alike: it follows every field of the gates, whatever they
// are called, and counts pointers in the order in which they are met. Times count by what is left until then or has passed
// since, and numbers of tenures by their order, so that a state is the same however it was reached.
type hasher struct {
	seed      maphash.Seed
	bytes     []byte
	met       map[object]uint32
	ids       []idAt
	sorted    []idAt
	followers map[reflect.Type]follower
	engine    int // whose fields are followed
	now       int64
	age       age
	most      age // World.Patience
}

// object is what a pointer points to; the first field of a struct is another one at the same address.
type object struct {
	at uintptr
	of reflect.Type
}

// idAt is a number of a tenure, and where it stands in what is hashed.
type idAt struct {
	engine int
	id     uint64
	at     int
}

func newHasher(seed maphash.Seed) *hasher {
	return &hasher{seed: seed, met: make(map[object]uint32), followers: make(map[reflect.Type]follower)}
}

// opaque are the types that are told otherwise, or make no difference.
var opaque = map[reflect.Type]bool{
	reflect.TypeFor[*gate.Config]():               true,
	reflect.TypeFor[*wire.Encoder]():              true,
	reflect.TypeFor[*wideWriter]():                true,
	reflect.TypeFor[*wheel.Slots[*gate.Waiter]](): true,
	reflect.TypeFor[*state]():                     true,
	reflect.TypeFor[*engine]():                    true,
	reflect.TypeFor[wheel.Timer[*gate.Entry]]():   true,
	reflect.TypeFor[wheel.Timer[*gate.Waiter]]():  true,
	reflect.TypeFor[gate.Effects]():               true,
	reflect.TypeFor[func(now gate.Time)]():        true,
	reflect.TypeFor[script]():                     true,
}

// hash is the number of a state. What is left of the world's bounds is not in it, but for the calls of its programs.
func (h *hasher) hash(s *state) uint64 {
	h.bytes, h.ids = h.bytes[:0], h.ids[:0]
	clear(h.met)
	h.engine = 0
	h.now, h.age, h.most = s.now, s.age, age(s.w.Patience)
	if s.refusing != faults {
		hashed(h, &s.refusedAt)
	}
	h.number(uint64(s.now % 1e6)) // what Redis does not see of it
	h.number(uint64(s.refusing))
	h.bytes = s.server.AppendRelative(h.bytes, func(b []byte, text string) []byte {
		h.bytes = b
		h.text(text)
		return h.bytes
	})
	h.number(bit(s.leftBehind)<<3 | bit(s.surprised)<<2 | bit(s.destroyed)<<1 | bit(s.unheard))
	hashed(h, &s.counted)
	if s.w.MostPublished > 0 {
		h.number(uint64(s.published))
		for _, m := range s.sayings {
			h.text(m.channel)
			h.text(m.text)
		}
	}
	for i, e := range s.engines {
		h.engine = i
		if e.dead {
			h.number(bit(e.cutOff)<<2 | bit(e.crashed)<<1 | 1)
			continue
		}
		hashed(h, e)
		for _, channel := range sortedKeys(s.subscribers[i]) {
			h.text(channel)
		}
	}
	for _, f := range s.strays {
		h.engine = f.by
		h.number(uint64(f.Op))
		hashed(h, &f.encoded)
		h.number(bit(f.copied))
		h.number(uint64(f.late - h.now))
		hashed(h, &f.since)
	}
	for _, c := range s.callers {
		if h.engine = c.e.number; !c.finished() || c.stays > c.e.now() {
			hashed(h, &c)
		}
	}
	h.hashCodes(s)
	h.rank()
	return maphash.Bytes(h.seed, h.bytes)
}

// rank puts in place of the numbers of an engine's tenures how many smaller ones there are.
func (h *hasher) rank() {
	h.sorted = append(h.sorted[:0], h.ids...)
	slices.SortFunc(h.sorted, func(a, b idAt) int { return cmp.Or(cmp.Compare(a.engine, b.engine), cmp.Compare(a.id, b.id)) })
	rank := uint64(0)
	for i, id := range h.sorted {
		if i > 0 && (id.engine != h.sorted[i-1].engine || id.id != h.sorted[i-1].id) {
			rank++
		}
		binary.LittleEndian.PutUint64(h.bytes[id.at:], rank)
	}
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (h *hasher) number(n uint64) { h.bytes = binary.LittleEndian.AppendUint64(h.bytes, n) }

// id takes the number of a tenure of an engine.
func (h *hasher) id(engine int, n uint64) {
	h.ids = append(h.ids, idAt{engine, n, len(h.bytes)})
	h.number(0)
}

// text takes words, with the times and numbers of tenures in them.
func (h *hasher) text(t string) {
	h.number(uint64(len(t)))
	for from, at := 0, 0; at < len(t); from = at {
		for at < len(t) && !digit(t[at]) {
			at++
		}
		h.bytes = append(h.bytes, t[from:at]...)
		for from = at; at < len(t) && digit(t[at]); {
			at++
		}
		h.digits(t, from, at)
	}
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// digits takes the number t[from:to]: of a tenure, a time of the server in ms or us, or any other.
func (h *hasher) digits(t string, from, to int) {
	n, err := strconv.ParseUint(t[from:to], 10, 64)
	micros := uint64(serverEpoch + h.now/1000)
	switch {
	case err != nil || n < serverEpoch/1000:
		h.bytes = append(h.bytes, t[from:to]...)
	case n < firstID:
		h.number(n - micros/1000)
	case isCode(n):
		h.code(n)
	case n < serverEpoch:
		engine := h.engine
		if uuid := from - uuidLength - 1; uuid >= 0 && t[from-1] == ':' {
			engine = strings.IndexByte(initials, t[uuid])
		}
		h.id(engine, n)
	default:
		h.number(n - micros)
	}
}

// The code of a place says whose it is, and that of a claim in which order its engine has drawn it: nobody makes codes up.
const (
	firstCode = 200_000 * codeStep
	codeStep  = 1_000_000_000

	claimNumbers = 1 << 59 // from here on the number of a code is a claim's (gate.Config.Codes)
)

// codes are those of an engine.
type codes int

func (engine codes) Code(n uint64) int64 {
	k := (n - firstID) * 2
	if n >= claimNumbers {
		k = (n-claimNumbers)*2 + 1
	}
	return firstCode + (int64(k)*int64(maxEngines)+int64(engine))*codeStep
}

func (engine codes) Number(code int64) uint64 {
	if of, n := ownerOfCode(uint64(code)); of == int(engine) {
		return n
	}
	return 0
}

// ownerOfCode is the engine of a code, and its number.
func ownerOfCode(code uint64) (engine int, n uint64) {
	k := (code - firstCode) / codeStep
	engine, k = int(k%uint64(maxEngines)), k/uint64(maxEngines)
	if k%2 != 0 {
		return engine, k/2 + claimNumbers
	}
	return engine, k/2 + firstID
}

func isCode(n uint64) bool { return n >= firstCode && n < serverEpoch }

// code takes the code of a place as the number of the tenure, and that of a claim as such a number, in an order of its own. What a publisher
// has made of one is told beside it.
func (h *hasher) code(code uint64) {
	engine, n := ownerOfCode(code)
	if n >= claimNumbers {
		engine += maxEngines
	}
	h.number(code % codeStep)
	h.id(engine, n)
}

// time takes a number that may be a time of an engine's clock: what is left until then counts, so that states are alike
// that differ only in when they were reached. Those clocks show more than firstHour when a world begins, and no number that
// is not one of their times is as large, but for Never.
func (h *hasher) time(n int64) {
	if code := uint64(max(n, -n)); isCode(code) {
		h.code(code)
		return
	}
	if n >= int64(firstHour) && n < int64(firstHour)*int64(maxEngines)*2 {
		n = n%int64(firstHour) - h.now + 1<<60
	}
	h.number(uint64(n))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
