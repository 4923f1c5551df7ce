package faults_test

import (
	"strings"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// A command that the server does not have is named by Open, with the reason why that may be.
// invariant: open-names-missing-rights
func TestACommandThatTheServerLacksIsNamedAtOpen(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"EVAL", "EVALSHA", "SCRIPT", "TIME", "PTTL", "PEXPIRE", "HSET", "HGETALL", "SET", "ZADD", "LPOS", "PUBLISH", "PUBSUB",
		"SUBSCRIBE", "UNSUBSCRIBE", "WAIT", "ROLE", "SPUBLISH", "SSUBSCRIBE",
	} {
		t.Run(command, func(t *testing.T) {
			server := redistest.Start(t, "--rename-command", command, "")
			opts := testkit.OptionsFor(server.Addr())
			switch command {
			case "WAIT":
				opts.Replicas = 1
			case "ROLE":
				opts.Replicas = engine.AllReplicas
			case "SPUBLISH", "SSUBSCRIBE":
				opts.PubSub = engine.PubSubBoth
			}
			err := mustNotOpen(t, opts, engine.ErrRefused, "does not have", "rename-command")
			if err != nil && !strings.Contains(strings.ToUpper(err.Error()), command) {
				t.Errorf("the error does not name %s: %v", command, err)
			}
		})
	}
	t.Run("several", func(t *testing.T) {
		server := redistest.Start(t, "--rename-command", "PUBLISH", "", "--rename-command", "HDEL", "")
		mustNotOpen(t, testkit.OptionsFor(server.Addr()), engine.ErrRefused, "hdel", "publish", "rename-command")
	})
	for _, command := range []string{"WAIT", "ROLE", "SPUBLISH", "CLUSTER"} {
		t.Run("what is not needed may be missing: "+command, func(t *testing.T) {
			server := redistest.Start(t, "--rename-command", command, "")
			e := testkit.Connect(t, server.Addr())
			testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("name")))
		})
	}
}
