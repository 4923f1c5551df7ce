//go:build unix

package main

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// shared is memory that all processes of one turn see. It counts the holders of each hot name, so every hold of
// every process is checked against all others, at a few nanoseconds and without a message to Redis.
type shared struct {
	words  []atomic.Int64
	memory []byte
}

// Words stand a cache line apart. The first few serve the hand-over, the others are holders of hot names.
const (
	wordStride   = 8
	wordReleased = 0 // when the holder called unlock, ns; 0 when somebody has the lock
	wordGrants   = 1 // how often the lock was had
	wordWaiting  = 2 // and 3: whether process 0 or 1 asks for the lock
	wordHolders  = 4
	sharedWords  = 64
	sharedBytes  = sharedWords * wordStride * 8
)

// createShared makes the file that openShared maps. The caller removes it.
func createShared(path string) error {
	return os.WriteFile(path, make([]byte, sharedBytes), 0o600)
}

func openShared(path string) (*shared, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the mapping stays
	memory, err := syscall.Mmap(int(file.Fd()), 0, sharedBytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", path, err)
	}
	words := unsafe.Slice((*atomic.Int64)(unsafe.Pointer(&memory[0])), sharedWords*wordStride)
	return &shared{words: words, memory: memory}, nil
}

func (s *shared) word(i int) *atomic.Int64 { return &s.words[i*wordStride] }

// enter says whether the caller is the only holder of this hot name; leave must follow.
func (s *shared) enter(hot int) bool { return s.word(wordHolders+hot).Add(1) == 1 }

func (s *shared) leave(hot int) { s.word(wordHolders + hot).Add(-1) }

func (s *shared) close() error { return syscall.Munmap(s.memory) }
