package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/testkit/child"
)

// screen is a terminal of 80 columns in which a shell runs, and all that was written to it.
type screen struct {
	t      *testing.T
	master *os.File
	shell  int        // the process, which leads its group
	mu     sync.Mutex // guards the rest
	text   string
	seen   int // how much of it was waited for
}

// openScreen starts an interactive bash that finds wheellock.
func openScreen(t *testing.T, url string) *screen {
	t.Helper()
	redistest.Require(t, "bash")
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	testkit.Must(t, err)
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	slave, openErr := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil || openErr != nil {
		t.Fatal(err, openErr)
	}
	defer slave.Close()
	dir := t.TempDir()
	self, _ := os.Executable()
	testkit.Must(t, os.Symlink(self, filepath.Join(dir, "wheellock")))
	shell := exec.Command("bash", "--norc", "--noprofile", "-i")
	shell.Env = append(os.Environ(), asProgram+"=1", "WHEELLOCK_REDIS="+patient(url), "PATH="+dir+":"+os.Getenv("PATH"), "PS1=ready> ", "TERM=dumb",
		"HISTFILE=", "GORACE=atexit_sleep_ms=0")
	shell.Stdin, shell.Stdout, shell.Stderr = slave, slave, slave
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	testkit.Must(t, shell.Start())
	s := &screen{t: t, master: master, shell: shell.Process.Pid}
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.read()
	}()
	t.Cleanup(func() {
		for _, pid := range processes(t, inSession, shell.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = shell.Wait()
		<-read
		master.Close()
	})
	s.await("ready> ")
	return s
}

func (s *screen) read() {
	for b := make([]byte, 4096); ; {
		n, err := s.master.Read(b)
		s.mu.Lock()
		s.text += strings.ReplaceAll(string(b[:n]), "\r", "")
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// await waits until words come that were not awaited before, and returns what came before them.
func (s *screen) await(words string) (before string) {
	s.t.Helper()
	came := child.Await(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		i := strings.Index(s.text[s.seen:], words)
		if i < 0 {
			return false
		}
		before = s.text[s.seen : s.seen+i]
		s.seen += i + len(words)
		return true
	})
	if !came {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.t.Fatalf("still waiting after %v for %q on the screen, which shows since then\n%s", child.Patience, words, s.text[s.seen:])
	}
	return before
}

// press types keys. Not a command before the prompt: of what is typed ahead when Ctrl-C has ended a job, bash drops what it likes.
func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// foreground is the process group that has the terminal.
func (s *screen) foreground() int {
	s.t.Helper()
	group, err := unix.IoctlGetInt(int(s.master.Fd()), unix.TIOCGPGRP)
	if err != nil {
		s.t.Fatal(err)
	}
	return group
}

const ctrlC, ctrlZ = "\x03", "\x1a"

// A command under a lock has the terminal: it reads from it, and Ctrl-C reaches it once. Ctrl-Z stops it with its wheellock, and fg
// has both go on.
func TestTerminal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openScreen(t, server.URL())
	// It starts no process: one that the terminal stops while its parent waits in vfork stops no job.
	s.press(`wheellock lock job -- sh -c 'trap "echo interr''upt" INT; echo as''k; read a; echo "got <$a>"; read b; read c; exit 5'` + "\n")
	s.await("ask\n")
	s.press("hello\n")
	s.await("got <hello>\n")
	s.press(ctrlZ)
	s.await("Stopped")
	s.await("ready> ")
	s.press("fg\n")
	s.await("fg\n") // the echo of it, perhaps
	redistest.Await(t, "the shell to give its terminal away", func() bool { return s.foreground() != s.shell })
	s.press(ctrlC)
	s.await("interrupt\n")
	s.press("\n") // the signal ends one read
	if after := s.await("ready> "); strings.Contains(after, "interrupt\n") {
		t.Errorf("Ctrl-C reaches the command more than once: %q", after)
	}
	s.press("echo code $?.\n")
	s.await("code 5.\n")
	s.await("ready> ")

	// A command that Ctrl-C ends is for a shell script what it is without wheellock: the script ends too.
	s.press("for i in 1 2; do wheellock lock job -- sh -c 'echo be''gun; read a'; done; echo never\n")
	s.await("begun\n")
	s.press(ctrlC)
	if after := s.await("ready> "); strings.Contains(after, "begun") || strings.Contains(after, "never\n") {
		t.Errorf("the loop goes on: %q", after)
	}

	// In a pipeline the command gets the terminal when it asks for it.
	s.press(`echo piped | wheellock lock job -- sh -c 'cat; read a </dev/tty; echo "got <$a>"'` + "\n")
	s.await("\npiped\n")
	s.press("there\n")
	s.await("got <there>\n")
	s.await("ready> ")

	// force asks a person.
	s.press("wheellock lock job -- sleep 1000 &\n")
	redistest.Await(t, "the lock", func() bool { return len(server.Keys()) == 2 })
	s.press("wheellock force job\n")
	s.await("Free job? [y/N] ")
	s.press("n\n")
	s.await("freed nothing\n")
	s.await("ready> ")
	s.press("wheellock force job\n")
	s.await("Free job? [y/N] ")
	s.press(ctrlC)
	s.await("freed nothing\n")
	s.await("ready> ")
	s.press("wheellock lock job -- true\n")
	s.await(`waiting for "job": the owner is `)
	s.press(ctrlC)
	s.await("ended by a signal")
	s.await("ready> ")
	s.press("wheellock force job\n")
	s.await("Free job? [y/N] ")
	s.press("y\n")
	s.await("freed job\n")
	s.await("ready> ")
	first, second := "285475da-9152-4c83-822a-67ee2f116a79:51", "285475da-9152-4c83-822a-67ee2f116a79:52"
	server.MustDo("HSET", "moved", first, "1")
	s.press("wheellock force moved\n")
	s.await("Free moved? [y/N] ")
	server.MustDo("HDEL", "moved", first)
	server.MustDo("HSET", "moved", second, "1")
	s.press("y\n")
	s.await("the holder shown above no longer has moved")
	s.await("freed nothing\n")
	s.await("ready> ")
	if owners := testkit.Owners(server, "moved"); !slices.Equal(owners, []string{second, "1"}) {
		t.Errorf("moved has %q, want %q", owners, second)
	}
	for answer, freed := range map[string]string{"n": "freed nothing\n", "y": "freed moved\n"} {
		server.MustDo("HSET", "moved", second, "1")
		s.press("wheellock force --holder 285475da 'mov*'\n")
		s.await("Free 1 lock? [y/N] ")
		s.press(answer + "\n")
		s.await(freed)
		s.await("ready> ")
	}
	server.MustDo("DEL", "moved")

	// Lists fit the terminal, and top redraws it.
	long := strings.Repeat("n", 100)
	server.MustDo("HSET", long, "285475da-9152-4c83-822a-67ee2f116a79:51", "1")
	s.press("clear; wheellock ls; TERM=xterm wheellock top --interval 100ms\n")
	s.await("TTL  KIND     HOLDER")
	s.await("1 held  0 processes wait  0 changes in this look (CHANGES: in all)\x1b[K\n")
	s.await("CHANGES")
	if row := s.await("…"); strings.Contains(row, long) {
		t.Errorf("a row is longer than the terminal: %q", row)
	}
	s.await("\x1b[H")
	s.press(ctrlC)
	s.await("ready> ")
}

// Where there is little room the holder gives some of its own, and names are seen; a terminal that cannot redraw gets lines; and who
// cannot write all says so.
func TestSmallScreens(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openScreen(t, server.URL())
	testkit.Must(t, unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 48}))
	s.press("wheellock lock stock:17 -- wheellock ls\n")
	s.await("TTL  KIND")
	if line := s.await("ready> "); !strings.Contains(line, " stock:17\n1 lock is listed\nsimple locks of other libraries: --kind simple\n") {
		t.Errorf("in 48 columns ls shows %q", line)
	}
	s.press("wheellock lock stock:17 -- env TERM=xterm wheellock top --count 1\n")
	s.await("CHANGES")
	if lines := s.await("ready> "); !strings.Contains(lines, " stock:") {
		t.Errorf("in 48 columns top shows %q", lines)
	}
	s.press("wheellock lock stock:17 -- wheellock top --count 1\n")
	s.await("held=1 ")
	s.await("ready> ")
	s.press("wheellock show -h\n")
	s.await("Shows the kind,")
	for line := range strings.Lines("Shows the kind," + s.await("ready> ")) {
		if len(line) > 48+1 && !strings.HasPrefix(line, " ") {
			t.Errorf("in 48 columns the help has the line %q", line)
		}
	}
	for _, command := range []string{"ls", "ls --json", "show stock:17"} {
		s.press("wheellock lock stock:17 -- wheellock " + command + " >/dev/full; echo it en''ded with $?\n")
		s.await("the output is not complete: ")
		s.await("it ended with 70\n")
		s.await("ready> ")
	}
}
