package wheel

import (
	"iter"
	"math/bits"
	"time"
)

// Tick counts lengths of time since the start of a Clock: with a length of 50ms, tick 3 lasts from 150ms to
// 200ms. Parts that exchange ticks share the length.
type Tick int64

// Floor returns the tick that at lies in: the argument of Due for now.
func Floor(at, length time.Duration) Tick {
	tick := at / length
	if at%length < 0 {
		tick--
	}
	return Tick(tick)
}

// Ceil returns the first tick that begins at or after at: the slot for what must not happen before at.
func Ceil(at, length time.Duration) Tick {
	tick := at / length
	if at%length > 0 {
		tick++
	}
	return Tick(tick)
}

// Begin returns when t begins, since the start of the Clock. It overflows where a time.Duration does.
func (t Tick) Begin(length time.Duration) time.Duration {
	return time.Duration(t) * length
}

// Timer is a place in a slot, to be embedded by value in what is put there. Value is the owner's, usually a
// pointer to the struct around it. The zero Timer is in no slot. It must not be copied while it is in one.
type Timer[T any] struct {
	next, prev *Timer[T] // nil when in no slot
	at         Tick
	Value      T
}

// In says whether t is in a slot.
func (t *Timer[T]) In() bool { return t.next != nil }

// Remove takes t out of its slot. It does nothing when t is in no slot. A slot that becomes empty is still opened.
func (t *Timer[T]) Remove() {
	if t.In() {
		t.prev.next, t.next.prev = t.next, t.prev
		t.next, t.prev = nil, nil
	}
}

// Slots orders entries by the tick at which they are due. It has no goroutine, lock or clock: one event
// loop owns it and says what tick it is, so a test can turn it by hand. The waker behind it says "look", and may say so
// early, late, twice or never: the loop has a timer of its own besides, for Slots asks only once for each tick.
//
// A slot holds one tick at a time. An entry beyond the horizon, which is the number of slots, waits in the
// furthest slot and is moved on when that is opened.
type Slots[T any] struct {
	heads  []Timer[T] // slot of tick t: the ring at t modulo length
	filled []uint64   // a bit for each slot: it got an entry since it was last found empty, and arm was called for that
	due    Timer[T]   // ring of the entries in opened slots, not yet yielded or moved on
	opened Tick       // the last tick opened; the slots hold the ticks after it
	arm    func(Tick)
}

// NewSlots returns empty slots, n of them, rounded up to a power of two. They take 32 bytes and a bit each when T is
// a pointer.
//
// arm is called, inside Put or Due, when a slot gets its first entry: the owner must see to it that Due is called once
// that tick has begun. It is called again only if Next or Due has found the slot empty meanwhile, and for the tick that
// an entry beyond the horizon is put off to, which only Slots knows. It must not use the Slots. nil: nobody needs telling.
func NewSlots[T any](n int, arm func(Tick)) *Slots[T] {
	if arm == nil {
		arm = func(Tick) {}
	}
	n = 1 << bits.Len(uint(max(n, 1)-1))
	s := &Slots[T]{heads: make([]Timer[T], n), filled: make([]uint64, (n+63)/64), arm: arm}
	s.due.clear()
	for i := range s.heads {
		s.heads[i].clear()
	}
	return s
}

// Put makes e due at a tick; an e that is in a slot, of whichever Slots, moves. When that tick is opened already, e is due at the
// next one, so that an entry put again by the body of a Due loop does not come round in the same loop.
func (s *Slots[T]) Put(e *Timer[T], at Tick) {
	e.Remove()
	e.at = max(at, s.opened+1)
	s.place(e)
}

// place links e into the slot of its tick, or into the furthest one, and calls arm for a slot that Next would pass over.
func (s *Slots[T]) place(e *Timer[T]) {
	tick := min(e.at, s.opened+Tick(len(s.heads)))
	s.slot(tick).push(e)
	at := s.index(tick)
	if bit := uint64(1) << (at % 64); s.filled[at/64]&bit == 0 {
		s.filled[at/64] |= bit
		s.arm(tick)
	}
}

// Due opens all slots up to now and yields the Value of each entry that is due, once, the entry already out
// of its slot: slot after slot, within a slot in the order they were put there. The body may Put and Remove
// any entry, those still to come in the same loop too. A caller that breaks out finds the rest in the next
// Due, and has to call it without being woken. After a long time away it looks at each slot once, not at each
// tick. A now before the last one opens nothing.
func (s *Slots[T]) Due(now Tick) iter.Seq[T] {
	return func(yield func(T) bool) {
		s.open(now)
		for !s.due.empty() {
			e := s.due.next
			e.Remove()
			if e.at > s.opened { // was beyond the horizon
				s.place(e)
				continue
			}
			if !yield(e.Value) {
				return
			}
		}
	}
}

// Quiet reports whether Due would yield nothing and open no slot: a loop that looks often spares itself that.
func (s *Slots[T]) Quiet(now Tick) bool { return now <= s.opened && s.due.empty() }

// open moves the slots up to now to the due ring. All of them before any entry is moved on: the slot of now
// and the furthest slot after it are the same ring.
func (s *Slots[T]) open(now Tick) {
	for t, any := s.Next(); any && t <= now; t, any = s.Next() {
		s.due.pushAll(s.slot(t))
	}
	s.opened = max(s.opened, now)
}

// Next returns the tick of the first slot that holds entries. False: none does.
func (s *Slots[T]) Next() (Tick, bool) {
	for t := s.opened + 1; t <= s.opened+Tick(len(s.heads)); {
		at := s.index(t)
		switch ahead := s.filled[at/64] >> (at % 64); {
		case ahead == 0:
			t += Tick(min(64, len(s.heads)) - at%64)
		case ahead&1 == 0:
			t += Tick(bits.TrailingZeros64(ahead))
		case s.slot(t).empty():
			s.filled[at/64] &^= 1 << (at % 64)
		default:
			return t, true
		}
	}
	return 0, false
}

func (s *Slots[T]) index(t Tick) int      { return int(t) & (len(s.heads) - 1) }
func (s *Slots[T]) slot(t Tick) *Timer[T] { return &s.heads[s.index(t)] }

// A Timer that heads a ring is never yielded: it is both ends of the list, so that Remove has no special
// case and need not know the slot.

func (t *Timer[T]) clear()      { t.next, t.prev = t, t }
func (t *Timer[T]) empty() bool { return t.next == t }

// push links last at the end of the ring headed by t.
func (t *Timer[T]) push(last *Timer[T]) {
	last.prev, last.next = t.prev, t
	t.prev.next, t.prev = last, last
}

// pushAll moves the entries of another ring to the end of the ring headed by t.
func (t *Timer[T]) pushAll(other *Timer[T]) {
	if other.empty() {
		return
	}
	first, last := other.next, other.prev
	first.prev, last.next = t.prev, t
	t.prev.next, t.prev = first, last
	other.clear()
}
