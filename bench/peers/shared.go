package main

import (
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/wheellock/wheellock/internal/testkit/sharedmem"
)

// shared is memory that all processes of one turn see. It counts the holders of each hot name, so every hold of
// every process is checked against all others, at a few nanoseconds and without a message to Redis.
type shared []atomic.Int64

// Words stand a cache line apart. The first few serve the hand-over, the others are holders of hot names, each with the last one beside it.
const (
	wordStride   = 8
	wordReleased = 0 // when the holder called unlock, ns; 0 when somebody has the lock
	wordGrants   = 1 // how often the lock was had
	wordWaiting  = 2 // and 3: whether process 0 or 1 asks for the lock
	wordHolders  = 4
	sharedWords  = 64
	sharedBytes  = sharedWords * wordStride * 8
)

// openShared maps a sharedmem.File of sharedBytes.
func openShared(f *os.File) (shared, error) {
	memory, err := sharedmem.Map(f, sharedBytes)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*atomic.Int64)(unsafe.Pointer(&memory[0])), sharedWords*wordStride), nil
}

func (s shared) word(i int) *atomic.Int64 { return &s[i*wordStride] }

// enter says whether the caller is the only holder of this hot name; leave must follow.
func (s shared) enter(hot int) bool { return s.word(wordHolders+hot).Add(1) == 1 }

// passed says whether the holder before was another one. Holders have numbers above 0.
func (s shared) passed(hot int, holder int64) bool {
	return s[(wordHolders+hot)*wordStride+1].Swap(holder) != holder
}

func (s shared) leave(hot int) { s.word(wordHolders + hot).Add(-1) }
