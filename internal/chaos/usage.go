package chaos

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// A client that goes wild must not take the machine with it: it is killed at mostMemory, and if that comes too late
// the system refuses it more than mostAddresses.
const (
	mostMemory    = 2 << 30 // resident bytes
	mostAddresses = 6 << 30 // bytes of address space
	watchEvery    = 50 * time.Millisecond
)

// usage is what a process has taken of the machine up to a moment.
type usage struct {
	at     instant
	cpu    time.Duration // processor time of all its threads
	memory int64         // resident bytes
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
	pages, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return u, err
	}
	_, err = fmt.Sscanf(string(pages), "%d %d", new(int64), &u.memory)
	u.memory *= int64(os.Getpagesize())
	return u, err
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
		if u.memory > mostMemory {
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

// limitMemory has the system end this process when it asks for too much. The race detector needs far more addresses.
func limitMemory() {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-race" && s.Value == "true" {
				return
			}
		}
	}
	_ = unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: mostAddresses, Max: mostAddresses}) // the parent watches in any case
}
