package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// same makes outputs comparable: times, long numbers, spaces and ids differ from run to run, how many hold and wait does not.
func same(text string) string {
	text = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}(:[0-9]+)?`).ReplaceAllString(text, "ID")
	text = regexp.MustCompile(`[0-9-]+T[0-9:.]+Z|[0-9]+(\.[0-9]+)?(ms|s\b)|[0-9]+\.[0-9]+|[0-9]{3,}`).ReplaceAllString(text, "N")
	return strings.Join(strings.Fields(text), " ")
}

// The commands of docs/COMMANDS.md do what stands there.
func TestCommandsOfTheDocument(t *testing.T) {
	t.Parallel()
	redistest.Require(t, "bash")
	text, err := os.ReadFile("../../docs/COMMANDS.md")
	testkit.Must(t, err)
	bin := t.TempDir()
	self, _ := os.Executable()
	testkit.Must(t, os.Symlink(self, filepath.Join(bin, "wheellock")))
	server := redistest.Start(t)
	env := append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0", "WHEELLOCK_REDIS="+patient(server.URL()), "PATH="+bin+":"+os.Getenv("PATH"))
	shell := func(command string) string {
		out, err := os.CreateTemp(bin, "output") // not a pipe, which a command in the background would keep open
		testkit.Must(t, err)
		defer out.Close()
		cmd := exec.Command("bash", "-c", command)
		cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = env, out, out, &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Run(); cmd.ProcessState == nil { // the exit code is in the document where it matters
			t.Fatal(err)
		}
		t.Cleanup(func() {
			for _, pid := range processes(t, inSession, cmd.Process.Pid) {
				_ = syscall.Kill(pid, syscall.SIGTERM)
			}
		})
		said, _ := os.ReadFile(out.Name())
		return string(said)
	}
	commands := consoles(string(text))
	for _, c := range commands {
		got := shell(c.line)
		looks := strings.HasPrefix(c.line, "wheellock ls") || strings.HasPrefix(c.line, "wheellock show") // which may be too early
		for i := 0; looks && same(got) != same(c.output) && i < 100; i++ {
			got = shell(c.line)
		}
		if same(got) != same(c.output) {
			t.Errorf("%s: it says\n%s\nwant\n%s", c.line, got, c.output)
		}
	}
	if len(commands) < 10 {
		t.Errorf("the document has %d commands", len(commands))
	}
}

// The table of exit codes in the document is that of the program's help.
func TestExitCodesOfTheDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/COMMANDS.md")
	testkit.Must(t, err)
	_, table, _ := strings.Cut(string(text), "\n## Exit codes\n")
	for _, c := range codes {
		if !regexp.MustCompile(`(?m)^\| (\d+, )*` + strconv.Itoa(c.code) + `\b`).MatchString(table) {
			t.Errorf("docs/COMMANDS.md does not explain exit code %d", c.code)
		}
	}
}
