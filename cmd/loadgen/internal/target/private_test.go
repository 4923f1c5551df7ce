//go:build unix

package target

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// start gives a private server, in a directory for temporary files that holds nothing else.
func start(t *testing.T) (target *Target, tmp string) {
	t.Helper()
	redistest.Require(t, "redis-server")
	tmp = shortTemp(t)
	target, err := Own(context.Background(), []string{os.Args[0], keeperRole})
	testkit.Must(t, err)
	t.Cleanup(func() { target.Close() })
	return target, tmp
}

// shortTemp is a new directory for temporary files, with a path short enough for unix sockets.
func shortTemp(t *testing.T) string {
	t.Helper()
	tmp, err := os.MkdirTemp("", "t")
	testkit.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(tmp) })
	t.Setenv("TMPDIR", tmp)
	return tmp
}

// wantEmpty fails unless a directory has nothing in it.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// serverPID is the process of the server.
func serverPID(t *testing.T, target *Target) int {
	t.Helper()
	info, err := target.client.Do(context.Background(), target.client.B().Info().Section("server").Build()).ToString()
	testkit.Must(t, err)
	pid, err := strconv.Atoi(resp.InfoFields(info)["process_id"])
	testkit.Must(t, err)
	return pid
}

func TestPrivateServerServesAndGoes(t *testing.T) {
	target, tmp := start(t)
	if target.Kind != Private || target.Version == "" || !strings.HasPrefix(target.Meaning(), "private redis-server "+target.Version) {
		t.Errorf("kind %q, version %q, meaning %q", target.Kind, target.Version, target.Meaning())
	}
	if !strings.HasPrefix(target.Place, tmp) {
		t.Errorf("the socket is at %s, want it below %s", target.Place, tmp)
	}
	pid := serverPID(t, target)
	if err := target.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	wantEmpty(t, tmp)
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("process %d after Close: %v, want it gone", pid, err)
	}
	if err := target.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestPrivateServerOnALoopbackPortWherePathsAreLong(t *testing.T) {
	redistest.Require(t, "redis-server")
	tmp := filepath.Join(shortTemp(t), strings.Repeat("long", 30))
	testkit.Must(t, os.Mkdir(tmp, 0o700))
	t.Setenv("TMPDIR", tmp)
	target, err := Own(context.Background(), []string{os.Args[0], keeperRole})
	testkit.Must(t, err)
	defer target.Close()
	if host, _, err := net.SplitHostPort(target.Place); err != nil || host != "127.0.0.1" {
		t.Errorf("the server listens at %s, want a port of 127.0.0.1", target.Place)
	}
	if _, err := target.Keys(context.Background(), "x"); err != nil {
		t.Error(err)
	}
	target.Close()
	wantEmpty(t, tmp)
}

func TestPrivateServerThatDiesIsReported(t *testing.T) {
	target, tmp := start(t)
	testkit.Must(t, syscall.Kill(serverPID(t, target), syscall.SIGKILL))
	if err := <-target.Failed(); !strings.Contains(err.Error(), "killed") {
		t.Errorf("reported %q, want that it was killed", err)
	}
	target.Close()
	wantEmpty(t, tmp)
}

// Whoever owns a server and is killed takes it along: server, keeper and directory.
func TestPrivateServerGoesWithAKilledOwner(t *testing.T) {
	redistest.Require(t, "redis-server")
	tmp := shortTemp(t)
	owner := exec.Command(os.Args[0], ownerRole)
	owner.Stderr = os.Stderr
	out, err := owner.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, owner.Start())
	defer owner.Wait()
	defer owner.Process.Kill()
	var place string
	testkit.Must(t, json.NewDecoder(out).Decode(&place))
	conn, err := net.Dial("unix", place)
	testkit.Must(t, err)
	defer conn.Close()
	owner.Process.Kill()
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	// A server that ends before it has accepted a connection resets it.
	if _, err := conn.Read(make([]byte, 1)); err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("reading from the server after its owner was killed: %v, want the end", err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // sleeps: the pace of questions: directories send no events
		if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) == 0 {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("left behind: %q", left)
		}
	}
}

func TestPrivateServerThatCannotStart(t *testing.T) {
	bin := t.TempDir()
	tmp := shortTemp(t)
	testkit.Must(t, os.WriteFile(filepath.Join(bin, "redis-server"), []byte("#!/bin/sh\necho no memory today\nexit 7\n"), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	target, err := Own(context.Background(), []string{os.Args[0], keeperRole})
	if err == nil {
		target.Close()
		t.Fatal("a server that ends at once was taken for one that works")
	}
	for _, word := range []string{"ended at once", "exit status 7", "no memory today"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
	wantEmpty(t, tmp)
}

func TestPrivateServerNotWaitedFor(t *testing.T) {
	redistest.Require(t, "redis-server")
	tmp := shortTemp(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if target, err := Own(ctx, []string{os.Args[0], keeperRole}); err == nil {
		target.Close()
	}
	wantEmpty(t, tmp)
}
