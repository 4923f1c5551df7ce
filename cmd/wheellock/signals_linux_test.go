package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
)

// ignoring begins a shell script that ignores what shells and nohup have their children ignore, and what a script may. The first line of its
// output is what a process ignores that has not wheellock around it. Nothing tells of TERM and PIPE.
const ignoring = `trap '' HUP INT QUIT TSTP TTIN TTOU; grep SigIgn /proc/self/status; exec "$0" "$@"`

// Signals that were ignored when wheellock was started stay so, for wheellock itself and for its command.
func TestSignalsThatWereIgnored(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, command := range []string{"lock", "elect"} {
		self, args := wheellock(t).Path, []string{command, "--redis", server.URL(), "job", "--", "sh", "-c", `grep -h SigIgn /proc/$PPID/status /proc/self/status`}
		p := wheellock(t)
		p.Path, p.Args = "/bin/sh", append([]string{"sh", "-c", ignoring, self}, args...)
		p.want(t, 0)
		if masks := strings.Split(p.stdout.String(), "\n"); len(masks) != 4 || masks[1] != masks[0] || masks[2] != masks[0] {
			t.Errorf("%s: a process, wheellock and its command ignore %q; want three times the same", command, masks)
		}
	}
}

// Ctrl-C is heard while a pipe is read into which nobody writes.
func TestCtrlCWhileAPipeIsRead(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "password")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"ls"}, {"doctor"}, {"lock", "job", "--", "true"}, {"elect", "job", "--", "true"}} {
		p := wheellock(t, append([]string{"--password-file", pipe}, args...)...).begin(t)
		writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for a reader
		if err != nil {
			t.Fatal(err)
		}
		_ = p.Process.Signal(os.Interrupt)
		p.end(t)
		p.want(t, 130, "ended by a signal: interrupt")
		writer.Close()
	}
}

// A second command of elect ignores no more than the first, though the terminal was given away before.
func TestASecondCommandIgnoresNoMore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openScreen(t, server.URL())
	s.press(`wheellock elect scheduler -- sh -c 'grep SigIgn /proc/self/status; exec sleep 1000'` + "\n")
	s.await("SigIgn:")
	first := s.await("\n")
	server.MustDo("DEL", "scheduler")
	s.await("SigIgn:")
	if second := s.await("\n"); second != first {
		t.Errorf("the second command ignores%s, the first%s", second, first)
	}
	s.press(ctrlC)
	s.await("ready> ")
}

// A reader of its notes that goes away ends neither wheellock nor its command.
func TestNotesThatNobodyReads(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := wheellock(t, "lock", "--json", "--redis", server.URL(), "job", "--", "sh", "-c", "exit 3")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	defer write.Close()
	p.Stderr = write
	p.want(t, 3)
}
