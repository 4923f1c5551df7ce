package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// The commands in docs/OPERATIONS.md are run, and print what stands there.
func TestOperations(t *testing.T) {
	t.Parallel()
	redistest.Require(t, "redis-server", "redis-cli", "bash")
	run := 0
	for title, section := range sections(t, "../../docs/OPERATIONS.md") {
		commands := consoles(section)
		set, known := settings[title]
		if known != (len(commands) > 0) {
			t.Errorf("%s: there are %d commands, and that it needs a server is %t", title, len(commands), known)
		}
		if len(commands) == 0 {
			continue
		}
		run += len(commands)
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, set.args...)
			if set.up != nil {
				set.up(b)
			}
			for _, c := range commands {
				b.check(c)
			}
			if set.after != nil {
				set.after(b)
			}
		})
	}
	if run < 30 {
		t.Errorf("only %d commands were found", run)
	}
}

// setting is what a section's commands meet.
type setting struct {
	args      []string // of redis-server
	up, after func(b *bench)
}

// settings are those of the sections that have commands.
var settings = map[string]setting{
	"First: wheellock doctor":                                   {args: []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}},
	"A lock is stuck, at three in the morning":                  {up: stuck, after: waiterHasIt},
	"Locks are lost":                                            {up: func(b *bench) { b.server.MustDo("FLUSHALL") }},
	"Callers wait for long":                                     {up: stuck},
	"ErrUnavailable, ErrNotSent, ErrUncertain":                  {},
	"Redis restarts or fails over":                              {args: []string{"--appendonly", "yes"}},
	"Memory grows":                                              {up: func(b *bench) { b.wheellock("lock", "stock:7", "--", "true").want(b.T, 0) }},
	"Too many connections":                                      {up: func(b *bench) { testkit.Connect(b.T, b.server.Addr()) }},
	"Redis refuses: OOM, MISCONF, NOREPLICAS, READONLY, NOPERM": {up: refused},
	"The clocks are wrong":                                      {},
	"What is in Redis":                                          {up: func(b *bench) { holdAllKinds(b.T, b.server) }},
}

// bench is where commands run: as words of a shell that finds wheellock, and a redis-cli that knows the server.
type bench struct {
	*testing.T
	server         *redistest.Server
	env            []string
	holder, waiter *program
}

func newBench(t *testing.T, args ...string) *bench {
	t.Helper()
	self, err := os.Executable()
	testkit.Must(t, err)
	redisCLI, err := exec.LookPath("redis-cli")
	testkit.Must(t, err)
	bin := t.TempDir()
	for name, line := range map[string]string{
		"wheellock": fmt.Sprintf("%s=1 GORACE=atexit_sleep_ms=0 exec %s", asProgram, self),
		"redis-cli": fmt.Sprintf(`exec %s $AS_AT_A_TERMINAL -u "${WHEELLOCK_REDIS%%%%\?*}"`, redisCLI),
	} {
		testkit.Must(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+line+" \"$@\"\n"), 0o700))
	}
	server := redistest.Start(t, args...)
	return &bench{T: t, server: server, env: append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "WHEELLOCK_REDIS="+patient(server.URL()))}
}

// wheellock makes a process that finds the server.
func (b *bench) wheellock(args ...string) *program {
	p := wheellock(b.T, args...)
	p.Env = append(p.Env, "WHEELLOCK_REDIS="+patient(b.server.URL()))
	return p
}

// shell runs a command, and returns what it prints.
func (b *bench) shell(command string) string {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "bash", "-c", command)
	cmd.Env = b.env
	if !strings.Contains(command, "|") {
		cmd.Env = append(slices.Clone(b.env), "AS_AT_A_TERMINAL=--no-raw")
	}
	out, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended { // the exit code says what the output says
		b.Fatal(err)
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n")
}

// changes are commands that are run once. Others only look, and what they look at may come a moment later.
var changes = regexp.MustCompile(`CONFIG SET|ACL SETUSER|wheellock force`)

// check runs a command of the document, and compares what it prints.
func (b *bench) check(c command) {
	b.Helper()
	out := b.shell(c.line)
	matches := func() bool { return c.printed.MatchString(out) }
	if !matches() && !changes.MatchString(c.line) {
		redistest.Await(b.T, c.line+"\nto print\n"+c.output+"\nIt printed\n"+out, func() bool {
			out = b.shell(c.line)
			return matches()
		})
	}
	if !matches() {
		b.Errorf("%s prints\n%s\nand not\n%s", c.line, out, c.output)
	}
}

// command is a command in the document, and what it prints.
type command struct {
	line, output string
	printed      *regexp.Regexp
}

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// consoles are the commands of a text.
func consoles(text string) (commands []command) {
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		if block[1] != "console" && block[1] != "sh" {
			continue
		}
		for _, session := range strings.Split("\n"+block[2], "\n$ ")[1:] {
			line, output, _ := strings.Cut(session, "\n")
			commands = append(commands, command{line, output, pattern(output)})
		}
	}
	return commands
}

// pattern matches output that has these lines in this order, with any others between. "..." stands for anything, and a word with
// a digit for any that begins with the same "name:".
func pattern(output string) *regexp.Regexp {
	var p strings.Builder
	p.WriteString(`(?s)^`)
	for line := range strings.Lines(output) {
		words := strings.Fields(line)
		for i, word := range words {
			name := regexp.MustCompile(`^[a-z_]+:`).FindString(word)
			switch {
			case strings.Contains(word, "..."):
				words[i] = `[^\n]*`
			case strings.ContainsAny(word, "0123456789"):
				words[i] = regexp.QuoteMeta(name) + `\S+`
			default:
				words[i] = regexp.QuoteMeta(word)
			}
		}
		if len(words) > 0 {
			p.WriteString(`(?:.*\n)?[ \t]*` + strings.Join(words, `[ \t]+`) + `[ \t]*\n`)
		}
	}
	return regexp.MustCompile(p.String())
}

// sections are the texts of a document by their titles.
func sections(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	testkit.Must(t, err)
	parts := make(map[string]string)
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		title, rest, _ := strings.Cut(part, "\n")
		parts[title] = rest
	}
	return parts
}

// stuck has one process hold stock:7, and another one wait for it.
func stuck(b *bench) {
	b.holder = b.wheellock("lock", "stock:7", "--", "sleep", "3600").begin(b.T)
	redistest.Await(b.T, "the holder", func() bool { return b.server.MustDo("EXISTS", "stock:7").Int == 1 })
	b.waiter = b.wheellock("lock", "stock:7", "--", "sleep", "3600").begin(b.T)
	redistest.Await(b.T, "the waiter", func() bool { return places(b.server, "stock:7") == 1 })
	b.names("held by", b.holder)
}

// names awaits that wheellock show names a process in a line: who is given a lock has it a moment later.
func (b *bench) names(label string, p *program) {
	b.Helper()
	host, err := os.Hostname()
	testkit.Must(b, err)
	line := regexp.MustCompile(label + ` +` + regexp.QuoteMeta(fmt.Sprintf("%s@%s:%d", filepath.Base(p.Path), host, p.Process.Pid)) + `\n`)
	redistest.Await(b.T, line.String(), func() bool { return line.MatchString(b.shell("wheellock show stock:7")) })
}

// waiterHasIt checks that the process that waited has the lock, and the other one was told of its loss.
func waiterHasIt(b *bench) {
	b.names("held by", b.waiter)
	b.holder.end(b.T)
	b.holder.want(b.T, 74, "lost")
}

// refused has a user without HSET try it.
func refused(b *bench) {
	b.server.MustDo("ACL", "SETUSER", "locks", "on", ">password", "~*", "+@all", "-hset")
	conn, err := resp.Dial("tcp", b.server.Addr(), "", "", time.Minute)
	testkit.Must(b, err)
	defer conn.Close()
	testkit.Must(b, conn.DoWithin(time.Minute, "AUTH", "locks", "password").Err())
	if reply := conn.DoWithin(time.Minute, "HSET", "stock:7", "a", "1"); !strings.HasPrefix(reply.Text, "NOPERM") {
		b.Fatal(reply)
	}
}
