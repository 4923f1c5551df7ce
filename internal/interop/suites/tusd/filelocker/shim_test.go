// Package filelocker has the API of tusd's package of that name, by contrib/tusd, for its tests. Locks are of two engines in turns, as
// of processes that share a folder.
package filelocker

import (
	"time"

	"github.com/tus/tusd/v2/pkg/handler"

	wheeltus "github.com/wheellock/wheellock/contrib/tusd"
	"github.com/wheellock/wheellock/internal/interop/suites/servers"
)

type FileLocker struct {
	AcquirerPollInterval, HolderPollInterval time.Duration // are not heeded

	processes [2]*wheeltus.Locker
	locks     int
}

func New(string) *FileLocker {
	l := new(FileLocker)
	for i := range l.processes {
		var err error
		if l.processes[i], err = wheeltus.New(servers.Engine(0), wheeltus.Options{}); err != nil {
			panic(err)
		}
	}
	return l
}

// NewLock is one of the next process.
func (l *FileLocker) NewLock(id string) (handler.Lock, error) {
	l.locks++
	return l.processes[l.locks%len(l.processes)].NewLock(id)
}
