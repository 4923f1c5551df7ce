package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// onTerminal runs loadgen on a terminal of so many columns, and returns all that was written to it.
func onTerminal(t *testing.T, columns int, args ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	testkit.Must(t, err)
	defer master.Close()
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)})
	}
	testkit.Must(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	testkit.Must(t, err)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stdout, cmd.Stderr = slave, slave
	testkit.Must(t, cmd.Start())
	slave.Close()
	text := make(chan string)
	go func() {
		all, _ := io.ReadAll(master) // it ends with EIO when the last program has closed the terminal
		text <- string(all)
	}()
	shown := <-text
	cmd.Wait()
	return shown
}

// Nothing is wider than the terminal, which would break it inside of words.
func TestEverythingFitsTheTerminal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, columns := range []int{50, 80, 120} {
		shown := onTerminal(t, columns, "--redis", server.URL(), "--workers", "4..64", "--steps", "3", "--kind", "permits", "--zipf", "0.99", "--names", "1k",
			"--hold", "1ms", "--wait", "1ms", "--think", "5ms", "--processes", "2", "--warmup", "200ms", "--duration", "1500ms")
		if !strings.Contains(shown, "no violation") || !strings.Contains(shown, "acquire") {
			t.Errorf("it shows:\n%s", shown)
		}
		for _, line := range strings.Split(strings.NewReplacer("\x1b[K", "", "\r\n", "\n", "\r", "\n").Replace(shown), "\n") {
			if n := utf8.RuneCountInString(line); n > columns {
				t.Errorf("%d columns: a line of %d: %q", columns, n, line)
			}
		}
		refused := onTerminal(t, columns, "--fail", "speed>3")
		for _, line := range strings.Split(refused, "\r\n") {
			if n := utf8.RuneCountInString(line); n > columns {
				t.Errorf("%d columns: a line of %d: %q", columns, n, line)
			}
		}
	}
}
