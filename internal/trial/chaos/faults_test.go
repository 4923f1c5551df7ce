package chaos

import (
	"math/rand/v2"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
)

// A busy script comes to its end although Redis does not hear who was to kill it, for all clients were paused.
func TestBusyScriptBehindAPauseEnds(t *testing.T) {
	server := redistest.Start(t, "--busy-reply-threshold", "20")
	server.MustDo("CLIENT", "PAUSE", "1000", "ALL")
	s := &strike{phase: &phase{server: server}, Rand: rand.New(rand.NewPCG(1, 1))}
	ended := make(chan struct{})
	go func() { defer close(ended); pick("BUSY script")[0].strike(s) }()
	left := restWithin
	if !running(ended, &left) {
		t.Error("the script is busy for ever")
	}
	server.MustDo("PING")
}
