package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
)

// lock --note says what a lock is for: ls and show have it, and a failure to get it.
func TestNotes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	url := server.URL()
	holder, d := lockedShell(t, url, "echo group $$ >>$DIARY; exec sleep 1000", "--note", "release № 7")
	d.await(t, "group")
	redistest.Await(t, "the note", func() bool { return len(server.MustDo("KEYS", "*note*").Texts()) == 1 })
	wheellock(t, "show", "job", "--redis", url).want(t, 0, "             for release № 7\n")
	wheellock(t, "show", "job", "--json", "--redis", url).want(t, 0, `"note":"release № 7"`)
	wheellock(t, "ls", "--redis", url).want(t, 0, "job  for release № 7\n")
	wheellock(t, "lock", "--try", "--redis", url, "job", "--", "true").want(t, 75, ", for release № 7")
	wheellock(t, "lock", "--redis", url, "--note", strings.Repeat("x", 257), "other", "--", "true").want(t, 64, "257 bytes")
	_ = holder.Process.Signal(syscall.SIGTERM)
	holder.end(t)
	if keys := server.MustDo("KEYS", "*note*").Texts(); len(keys) != 0 {
		t.Errorf("left behind: %q", keys)
	}
}
