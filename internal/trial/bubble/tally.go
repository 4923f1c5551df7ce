package bubble

import (
	"sync"
)

// tally is what is known of a name that counts: permits, semaphores, latches.
type tally struct {
	mu     sync.Mutex // guards the rest
	total  int64      // that were set
	taken  int64      // of a semaphore: by calls that said so, and not given back
	unsure int64      // given back or counted by calls of which nobody knows
	void   bool       // data was destroyed
	ids    []string   // of permits that were granted last
}

// destroy notes that what stood in Redis was destroyed.
func (l *tally) destroy() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.void = true
}

func (l *tally) read() (total, taken, unsure int64, void bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total, l.taken, l.unsure, l.void
}

// move changes what is taken, and what nobody knows.
func (l *tally) move(taken, unsure int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken += taken
	l.unsure += unsure
}

// lose notes that what was to be given back surely was not.
func (l *tally) lose(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsure -= n
	l.taken += n
}
