package faults_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/virtual"
)

// An engine that has nothing to send finds out that its server has gone, and that it is back.
func TestFaultIdleEngineSeesItsServerGo(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect()
		w.Server.Stop()
		if time.Sleep(2 * time.Second); e.Stats().Up {
			w.T.Error("the server has gone, and the link is up")
		}
		w.Server.Start(nil)
		if time.Sleep(5 * time.Second); !e.Stats().Up {
			w.T.Error("the server is back, and the link is down")
		}
		if err := e.Close(); err != nil {
			w.T.Fatal(err)
		}
		if e.Stats().Up {
			w.T.Error("an engine that was closed is up")
		}
	})
}
