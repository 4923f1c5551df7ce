package chaos

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A client that goes wild must not take the machine with it: it is killed at mostMemory.
const (
	mostMemory = 2 << 30 // resident bytes
	watchEvery = 50 * time.Millisecond
)

// usage is what a process has taken of the machine up to a moment.
type usage struct {
	at     instant
	cpu    time.Duration // processor time of all its threads
	memory int64         // resident bytes
	peak   int64         // the most there ever were
}

// usageOf asks Linux what a process takes.
func usageOf(pid int) (u usage, err error) {
	// The clock of the processor time of another process, as clock_getcpuclockid makes it.
	const scheduled = 2
	var ts unix.Timespec
	if err = unix.ClockGettime(int32(^pid)<<3|scheduled, &ts); err != nil {
		return u, err
	}
	u.at, u.cpu = now(), time.Duration(ts.Nano())
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, err
	}
	if u.memory, err = kilobytes(status, "VmRSS:"); err == nil {
		u.peak, err = kilobytes(status, "VmHWM:")
	}
	return u, err
}

// kilobytes reads a line of a process's status.
func kilobytes(status []byte, name string) (bytes int64, err error) {
	_, line, _ := strings.Cut(string(status), name)
	_, err = fmt.Sscan(line, &bytes)
	return bytes << 10, err
}

// watch notes what the process takes until it has ended, and kills it when that is too much.
func (p *process) watch() {
	defer close(p.watched)
	for !within(p.child.Done(), watchEvery) {
		u, err := usageOf(p.child.PID())
		if err != nil {
			continue // it has just ended
		}
		p.mu.Lock()
		p.usages = append(p.usages, u)
		p.mu.Unlock()
		if u.memory > p.most {
			p.end(fmt.Sprintf("was killed at %d MB", u.memory>>20))
		}
	}
}

// used is what the process has taken so far, in the order of time.
func (p *process) used() []usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.usages[:len(p.usages):len(p.usages)]
}

// usualMemory is what a client may have resident at most, whatever strikes it.
const usualMemory = 256 << 20

// memory checks that no client took too much of it.
func (h *history) memory() {
	for _, p := range append(h.phase.gone[:len(h.phase.gone):len(h.phase.gone)], h.phase.clients...) {
		var most int64
		for _, u := range p.used() {
			most = max(most, u.peak)
		}
		h.figures.memory = max(h.figures.memory, most)
		if most > usualMemory {
			h.fail("memory", "client %d had %d MB", p.Number, most>>20)
		}
	}
}
