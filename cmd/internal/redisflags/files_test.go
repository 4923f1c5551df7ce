package redisflags_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	testkit.Must(t, os.WriteFile(path, []byte(text), 0o600))
}

func open(t *testing.T, o engine.Options) *engine.Engine {
	t.Helper()
	e := testkit.MustOpen(t, func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, o) })
	t.Cleanup(func() { e.Close() })
	return e
}

// A password that changes is read by the next handshake. While its file is not good, each handshake fails and says why, and nothing counts as sent.
func TestAPasswordThatChanges(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--requirepass", "old")
	f := &redisflags.Flags{URL: "redis://" + server.Addr(), PasswordFile: filepath.Join(t.TempDir(), "password")}
	for text, want := range map[string]string{"": "its first line is empty", "\r\nold": "its first line is empty"} {
		write(t, f.PasswordFile, text)
		if _, err := f.Options(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %q in the file: %v, want %q", text, err, want)
		}
	}
	write(t, f.PasswordFile, "old\r\n")
	o, err := f.Options()
	testkit.Must(t, err)
	e := open(t, o)
	h := testkit.MustLock(t, e.Mutex("held"))
	for name, spoil := range map[string]func(){
		"its first line is empty":   func() { write(t, f.PasswordFile, "") },
		"no such file or directory": func() { os.Remove(f.PasswordFile) },
	} {
		spoil()
		server.KillClients("normal")
		redistest.Await(t, name, func() bool { // connections that rested may still be open
			_, err := e.Mutex("other").TryLock(t.Context())
			return errors.Is(err, engine.ErrNotSent) && strings.Contains(err.Error(), "--password-file") && strings.Contains(err.Error(), name)
		})
	}
	server.MustDo("CONFIG", "SET", "requirepass", "new")
	write(t, f.PasswordFile, "new\n")
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("other")))
	testkit.MustUnlock(t, h)
}

// Certificates that change are read by the next handshake: another authority, and another certificate of our own.
func TestCertificatesThatChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := &redisflags.Flags{CA: filepath.Join(dir, "ca"), Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}
	var o engine.Options
	for round := range 2 {
		ca := testkit.NewAuthority(t)
		cert := ca.Issue("127.0.0.1", time.Now().Add(time.Hour))
		_, addr := ca.Serve(cert, "--tls-auth-clients", "yes")
		files := ca.Args(cert)
		for i, path := range []string{f.CA, f.Cert, f.Key} {
			text, err := os.ReadFile(files[2*i+1])
			testkit.Must(t, err)
			write(t, path, string(text))
		}
		if f.URL = "rediss://" + addr; round == 0 {
			var err error
			if o, err = f.Options(); err != nil {
				t.Fatal(err)
			}
		}
		r := o.Redis
		r.InitAddress, r.DisableCache = []string{addr}, true
		for _, good := range []bool{true, false} {
			if !good {
				write(t, f.Key, "")
			}
			client, err := rueidis.NewClient(r)
			if good != (err == nil) || !good && !strings.Contains(err.Error(), "--cert, --key: ") {
				t.Errorf("round %d, files are good: %t: %v", round, good, err)
			}
			if err == nil {
				client.Close()
			}
		}
	}
}

// A pipe, as <(COMMAND) is one, has its password once, however often it is wanted.
func TestAPasswordFromAPipe(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--requirepass", "secret")
	read, write, err := os.Pipe()
	testkit.Must(t, err)
	defer read.Close()
	fmt.Fprintln(write, "secret")
	write.Close()
	f := &redisflags.Flags{URL: "redis://" + server.Addr(), PasswordFile: fmt.Sprintf("/proc/self/fd/%d", read.Fd())}
	for range 2 {
		o, err := f.Options()
		testkit.Must(t, err)
		open(t, o)
	}
}
