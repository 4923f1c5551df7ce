// Package memorylocker has the API of tusd's package of that name, by contrib/tusd, for its tests.
package memorylocker

import (
	wheeltus "github.com/wheellock/wheellock/contrib/tusd"
	"github.com/wheellock/wheellock/internal/interop/suites/servers"
)

type MemoryLocker struct{ *wheeltus.Locker }

func New() *MemoryLocker {
	locker, err := wheeltus.New(servers.Engine(0), wheeltus.Options{})
	if err != nil {
		panic(err)
	}
	return &MemoryLocker{locker}
}
