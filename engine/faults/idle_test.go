package faults_test

import (
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// An engine that has nothing to send finds out that its server has gone, and that it is back.
func TestFaultIdleEngineSeesItsServerGo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	server.Kill()
	redistest.Await(t, "the link to be down", func() bool { return !e.Stats().Up })
	server.Restart()
	redistest.Await(t, "the link to be up", func() bool { return e.Stats().Up })
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if e.Stats().Up {
		t.Error("an engine that was closed is up")
	}
}
