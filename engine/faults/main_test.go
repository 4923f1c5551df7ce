// Package faults_test breaks what lies between the engine and Redis, or behind: answers, connections, the server and its rights. What
// can be broken in memory is broken there, in virtual time (internal/virtual); a real redis-server has the other faults. TESTING.md has
// the table of them. Each test is named for the rule that must hold.
//
// How often a fault is injected is the full count times WHEELLOCK_SCALE. The default is small enough for every push; the full
// count is
//
//	WHEELLOCK_SCALE=1 go test -run Fault -timeout 2h -v ./engine/faults
package faults_test

import (
	"testing"

	"github.com/wheellock/wheellock/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
