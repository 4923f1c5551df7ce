package load

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timerFD is a timer of the kernel's, read through Go's poller: it ends the poller's sleep by itself, where a
// Go timer depends on the whole milliseconds for which the poller sleeps.
type timerFD struct {
	fd   int
	file *os.File
}

func newAlarm() (alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making a timer: %w", err)
	}
	return &timerFD{fd, os.NewFile(uintptr(fd), "timer")}, nil
}

func (t *timerFD) set(d time.Duration) {
	when := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(d), 1))} // 0 would disarm it
	unix.TimerfdSettime(t.fd, 0, &when, nil)                              // fails only for what is no timer
}

func (t *timerFD) wait() {
	var expirations [8]byte
	t.file.Read(expirations[:])
}

func (t *timerFD) close() { t.file.Close() }
