package gate

import (
	"testing"
	"unsafe"
)

// It fails where Counter is made an atomic.Int64 and GOARCH is 386, as in `make cross`.
func TestCountersMayLieAnywhere(t *testing.T) {
	var s struct {
		_       int32
		counter Counter
	}
	if offset := unsafe.Offsetof(s.counter); offset != 8 || unsafe.Alignof(s) != 8 || unsafe.Sizeof(s.counter) != 8 {
		t.Errorf("offset %d, alignment %d, size %d: want 8 each", offset, unsafe.Alignof(s), unsafe.Sizeof(s.counter))
	}
	s.counter.Inc()
	if got := s.counter.Load(); got != 1 {
		t.Errorf("counted %d, want 1", got)
	}
}
