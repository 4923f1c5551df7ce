package main

import (
	"context"
	"net/http"

	"github.com/wheellock/wheellock/contrib/httplock"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/load"
)

// Wheellock needs no library of its own: internal/load has all kinds of its locks.
var (
	wheellockEntry = entry{
		name:     "wheellock",
		settings: "Options as they come, with this Redis; Mutex, which is Redisson's RLock",
		lacks:    "fencing needs FencedMutex, order across processes FairMutex",
		title:    "wheellock",
		commands: []string{"hello", "subscribe", "unsubscribe", "ping"},
		kind:     load.Mutex,
		takes:    func(work) bool { return true },
		guard:    guardByWheellock,
		guarded:  "contrib/httplock with that Wait, which has WithFailFast; a lease of 30 s that the engine renews",
	}
	wheellockSimpleEntry = entry{
		name:     "wheellock simple",
		settings: "as wheellock, but SimpleMutex, which is the lock of the libraries for Go and Python here",
		lacks:    "as wheellock",
		title:    "wheellock, simple",
		commands: wheellockEntry.commands,
		kind:     load.Simple,
	}
)

func guardByWheellock(url string, work http.Handler) (site, error) {
	opts, err := engine.ParseURL(url)
	if err != nil {
		return site{}, err
	}
	e, err := engine.Open(context.Background(), opts)
	if err != nil {
		return site{}, err
	}
	exclusive, err := httplock.New(e, httplock.Options{Wait: guardWait})
	if err != nil {
		return site{}, err
	}
	return site{exclusive(work), e.Up, func() { e.Close() }}, nil
}
