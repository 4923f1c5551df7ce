package redismodel

import (
	"encoding/binary"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

var (
	serverFlag = flag.String("server", "", "the server of the duels: a program; empty: the redis-server on the PATH")
	seedFlag   = flag.Uint64("seed", 1, "what the duels do")
)

// rival is a redis-server whose clock the test turns: what it answers can be compared to the millisecond.
type rival struct {
	*redistest.Server
	testing.TB
	clock *os.File
	wire  *wire  // for the duel
	heard *wire  // subscribes
	name  string // with the version
}

// startRival starts a server with its clock at so many µs.
func startRival(tb testing.TB, micros int64) *rival {
	tb.Helper()
	if runtime.GOOS != "linux" {
		tb.Skip("SKIPPED: the clock of a server can be turned on Linux only. NOT PROVED: that the model is like Redis.")
	}
	redistest.Require(tb, "redis-server")
	dir := tb.TempDir()
	if *serverFlag != "" {
		program, err := filepath.Abs(*serverFlag)
		if err == nil {
			err = os.Symlink(program, filepath.Join(dir, "redis-server"))
		}
		if err != nil {
			tb.Fatal(err)
		}
		tb.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	}
	r := &rival{TB: tb}
	var err error
	if r.clock, err = os.Create(filepath.Join(dir, "clock")); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = r.clock.Close() }) // nothing is kept in it
	r.turn(micros)
	library := filepath.Join(dir, "clock.so")
	if said, err := exec.Command("cc", "-shared", "-fPIC", "-O2", "-o", library, "testdata/clock.c").CombinedOutput(); err != nil {
		tb.Fatalf("cc: %v\n%s", err, said)
	}
	for name, value := range map[string]string{"CLOCK_FILE": r.clock.Name(), "LD_PRELOAD": library} {
		if err := os.Setenv(name, value); err != nil {
			tb.Fatal(err)
		}
	}
	r.Server = redistest.Start(tb, debugging(tb)...)
	_, _ = os.Unsetenv("LD_PRELOAD"), os.Unsetenv("CLOCK_FILE") // they cannot fail: they were set just now
	r.name = resp.Product(resp.InfoFields(r.MustDo("INFO", "server").Text))
	// In the background Redis 8 deletes a key at the beginning of its last millisecond, at which all versions still find it.
	r.MustDo("DEBUG", "SET-ACTIVE-EXPIRE", "0")
	r.wire, r.heard = dialWire(tb, r.Addr()), dialWire(tb, r.Addr())
	if at := strings.Join(r.MustDo("TIME").Texts(), " "); at != timeText(micros) {
		tb.Fatalf("the server's clock is not the test's: %s, want %s", at, timeText(micros))
	}
	return r
}

// debugging is what allows DEBUG. Redis 6 knows no such words, nor sharded channels.
func debugging(tb testing.TB) []string {
	tb.Helper()
	said, err := exec.Command("redis-server", "--version").CombinedOutput()
	if err != nil {
		tb.Fatalf("redis-server --version: %v\n%s", err, said)
	}
	if strings.Contains(string(said), "v=6.") {
		tb.Skip("SKIPPED: the redis-server is older than 7.0. NOT PROVED: that the model is like Redis.")
	}
	return []string{"--enable-debug-command", "yes"}
}

func timeText(micros int64) string {
	answer := (&Server{Micros: micros}).Do("TIME")
	return answer.Array[0].Str + " " + answer.Array[1].Str
}

// turn sets the server's clock.
func (r *rival) turn(micros int64) {
	r.Helper()
	if _, err := r.clock.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(micros)), 0); err != nil {
		r.Fatal(err)
	}
}
