package polyglot

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/interop"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// library is one of the others.
type library struct {
	name    string
	command []string // its driver; the URLs of the servers follow
	tokens  bool     // callers choose the values of its locks
	quorum  bool     // it locks the majority of several servers
}

var libraries = []library{
	{name: "redis-py", command: []string{".venv/bin/python", "driver.py"}, tokens: true},
	{name: "node-redlock 5", command: []string{"node", "driver.js", "redlock"}, quorum: true},
	{name: "node-redlock 4", command: []string{"node", "driver.js", "redlock4"}, quorum: true},
	{name: "redislock", command: []string{os.Args[0]}, tokens: true},
	{name: "redsync", command: []string{os.Args[0]}, tokens: true, quorum: true},
}

// process starts the driver of a library, which lives until the end of the test.
func (l *library) process(t *testing.T, servers ...*redistest.Server) *interop.Side {
	t.Helper()
	var urls []string
	for _, server := range servers {
		urls = append(urls, server.URL())
	}
	command := exec.Command(l.command[0], slices.Concat(l.command[1:], urls)...)
	command.Env = append(os.Environ(), served+"="+l.name)
	return interop.Drive(t, command)
}

// pair is a library and an engine on one server.
type pair struct {
	library
	server *redistest.Server
	theirs *interop.Side
	*engine.Engine
}

// every is every library, tokens those whose callers choose the values.
func every(library) bool    { return true }
func tokens(l library) bool { return l.tokens }

// beside runs a test for each of some libraries, all at the same time.
func beside(t *testing.T, some func(library) bool, test func(*testing.T, *pair), change ...func(*engine.Options)) {
	t.Parallel()
	require(t)
	for _, l := range libraries {
		if !some(l) {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			p := &pair{l, server, l.process(t, server), testkit.Connect(t, server.Addr(), append(change, patient)...)}
			t.Logf("beside %s, Redis %s", p.theirs.Ready, version(server))
			test(t, p)
		})
	}
}

// patient are the options of an engine on a machine that may stand still for some seconds.
func patient(o *engine.Options) { o.AnswerTimeout = -1 }

func require(t *testing.T) {
	t.Helper()
	if os.Getenv("WHEELLOCK_POLYGLOT") == "" {
		t.Skip("SKIPPED: make polyglot runs it. NOT PROVED: that simple locks are those of other libraries")
	}
	redistest.Require(t, "redis-server")
}

func version(server *redistest.Server) string {
	_, version, _ := strings.Cut(server.MustDo("INFO", "server").Text, "redis_version:")
	version, _, _ = strings.Cut(version, "\r\n")
	return version
}
