package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wheellock/wheellock/internal/redistest"
)

// asSubreaper, set in the environment, makes this test's program one whose descendants become its children when they lose their parent.
const asSubreaper = "WHEELLOCK_TEST_AS_SUBREAPER"

func init() {
	if os.Getenv(asSubreaper) != "" {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			panic(err)
		}
	}
}

// childCount is how many children a process has, those among them that have ended and are not reaped.
func childCount(pid int) (n int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		n += len(strings.Fields(string(children)))
	}
	return n
}

// spawns leaves three orphans behind, which end when there is a file or the test is over, and goes on itself until there is another.
const spawns = `echo . >>$DIARY; for i in 1 2 3; do (setsid sh -c 'echo orphan >>$DIARY; while [ -e "$DIARY" -a ! -e "$DIARY.end" ]; do sleep 0.02; done' &); done
	until [ -e "$DIARY.done" ]; do sleep 0.02; done; exit 7`

// The first process of a container, and a subreaper, reap what has lost its parent, and the exit codes of their commands are not lost.
func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	for name, as := range map[string]func(p *program){
		"subreaper": func(p *program) { p.Env = append(p.Env, asSubreaper+"=1") },
		"first process": func(p *program) {
			p.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		},
	} {
		for _, command := range []string{"lock", "elect"} {
			t.Run(name+", "+command, func(t *testing.T) {
				t.Parallel()
				if name == "first process" && os.Geteuid() != 0 {
					t.Skip("SKIPPED: only root makes a first process. NOT PROVED: that it reaps orphans as a subreaper does.")
				}
				server := redistest.Start(t)
				d := newDiary(t)
				p := wheellock(t, command, "--redis", server.URL(), "job", "--", "sh", "-c", spawns)
				p.Env = append(p.Env, "DIARY="+string(d))
				as(p)
				p.begin(t)
				children := func(want int) {
					t.Helper()
					redistest.Await(t, fmt.Sprintf("%d children", want), func() bool { return childCount(p.Process.Pid) == want })
				}
				file := func(name string) {
					if err := os.WriteFile(string(d)+name, nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				redistest.Await(t, "three orphans", func() bool { return strings.Count(strings.Join(d.words(), " "), "orphan") == 3 })
				children(4)
				if command == "elect" { // the command is ended, and none runs when the orphans end
					server.MustDo("EVAL", "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], ARGV[1], 1) return redis.call('PEXPIRE', KEYS[1], 60000)", "1",
						"job", "285475da-9152-4c83-822a-67ee2f116a79:51")
					children(3)
					file(".end")
					children(0)
					server.MustDo("DEL", "job")
					children(1)
				}
				file(".end")
				children(1)
				file(".done")
				p.end(t)
				p.want(t, 7)
			})
		}
	}
}
