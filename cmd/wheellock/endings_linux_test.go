package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wheellock/wheellock/engine/elect"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// asRoot, set in the environment, makes this test's program a command that becomes root, as sudo does, and ends with its input.
const asRoot = "WHEELLOCK_TEST_AS_ROOT"

func init() {
	if os.Getenv(asRoot) == "" {
		return
	}
	if err := syscall.Setresuid(0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(5)
}

// copySelf puts this test's program where everybody may run it.
func copySelf(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(path, self, 0o700)
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	testkit.Must(t, err)
}

// underSudo begins wheellock as a user who is not root, with a command that becomes root. lines is what wheellock says; the command ends
// when its input is closed.
func underSudo(t *testing.T, url string) (p *program, input io.Closer, lines *bufio.Reader) {
	t.Helper()
	const nobody = 65534
	dir, err := os.MkdirTemp("/tmp", "wheellock")
	testkit.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || os.Geteuid() != 0 || fs.Flags&unix.ST_NOSUID != 0 {
		t.Skipf("SKIPPED: only root, on a file system with setuid programs, can make one (%v). NOT PROVED: what wheellock says of a command under sudo.", err)
	}
	testkit.Must(t, os.Chmod(dir, 0o755))
	program, command := filepath.Join(dir, "wheellock"), filepath.Join(dir, "sudo")
	copySelf(t, program, 0o755)
	copySelf(t, command, 0o755|os.ModeSetuid)
	p = wheellock(t, "lock", "--redis", url, "job", "--", "env", asRoot+"=1", command)
	p.Path, p.Dir = program, dir
	p.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	in, input, err := os.Pipe()
	testkit.Must(t, err)
	out, stderr, err := os.Pipe()
	testkit.Must(t, err)
	p.Stdin, p.Stderr = in, stderr
	p.begin(t)
	t.Cleanup(func() { _, _, _ = input.Close(), in.Close(), out.Close() })
	_ = stderr.Close()
	testkit.Must(t, out.SetReadDeadline(time.Now().Add(testkit.Patience)))
	return p, input, bufio.NewReader(out)
}

// rootOf waits until the command of a wheellock is root's, so that its user may not end it any more, and returns its process group.
func rootOf(t *testing.T, p *program) (group int) {
	t.Helper()
	redistest.Await(t, "a command that is root's", func() bool {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.Process.Pid))
		for _, list := range lists {
			child, _ := os.ReadFile(list)
			status, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(child)) + "/status")
			if strings.Contains(string(status), "\nUid:\t0\t0\t0\t0\n") {
				group, _ = strconv.Atoi(strings.TrimSpace(string(child)))
			}
		}
		return group > 0
	})
	return group
}

// A command that is another user's cannot be ended: wheellock says so, and what to do, when it would have to end it or is asked to.
func TestACommandUnderSudo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(p *program, server *redistest.Server)
		exit    int
	}{
		"the lock is lost":    {func(_ *program, server *redistest.Server) { server.MustDo("DEL", "job") }, 74},
		"wheellock gets TERM": {func(p *program, _ *redistest.Server) { _ = p.Process.Signal(syscall.SIGTERM) }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			p, input, lines := underSudo(t, server.URL())
			group := rootOf(t, p)
			c.happens(p, server)
			said := ""
			for !strings.Contains(said, "cannot end the command") {
				line, err := lines.ReadString('\n')
				if said += line; err != nil {
					t.Fatalf("it said %q, %v", said, err)
				}
			}
			for _, word := range []string{fmt.Sprintf("kill -KILL -- -%d\n", group), "sudo", "without \"job\""} {
				if !strings.Contains(strings.ReplaceAll(said, ". In future", "\n"), word) {
					t.Errorf("it said %q, want %q in it", said, word)
				}
			}
			if left := processes(t, inGroup, group); len(left) != 1 {
				t.Errorf("of the command live %v", left)
			}
			if err := input.Close(); err != nil {
				t.Error(err)
			}
			rest, err := io.ReadAll(lines)
			if strings.Contains(string(rest), "cannot end") || err != nil {
				t.Errorf("it said so again: %q, %v", rest, err)
			}
			p.end(t)
			p.want(t, c.exit)
		})
	}
}

// While wheellock itself is stopped, nobody can end its command in time, and another one gets the lock. When wheellock goes on, its first
// act is to end the command.
func TestWheellockIsStopped(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p, d := lockedShell(t, server.URL(), stubborn, "--lease", "6s") // long enough for a busy machine
	group := d.await(t, "group")
	_ = p.Process.Signal(syscall.SIGSTOP)
	h := testkit.MustLock(t, testkit.Connect(t, server.Addr()).FencedMutex("job"))
	if left := processes(t, inGroup, group); len(left) == 0 {
		t.Error("the command has ended: the documents say that it goes on")
	}
	_ = p.Process.Signal(syscall.SIGCONT)
	p.end(t)
	p.want(t, 74, `lost "job"`)
	if left := processes(t, inGroup, group); len(left) > 0 {
		t.Errorf("of the command live %v", left)
	}
	testkit.MustUnlock(t, h)
}

// Who asks wheellock to end while it ends its command, because the leadership is lost, does not have to ask twice.
func TestTermWhileALeaderIsEnded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	d := newDiary(t)
	p := wheellock(t, "elect", "--redis", proxy.URL(), "--lease", "6s", "scheduler", "--", "sh", "-c",
		`trap 'echo termed 0 >>$DIARY' TERM; `+sleeper+`while :; do wait; done`)
	p.Env = append(p.Env, "DIARY="+string(d))
	p.begin(t)
	d.await(t, "group")
	proxy.BlackHole(redistest.Both, true)
	d.await(t, "termed")
	_ = p.Process.Signal(syscall.SIGTERM)
	p.end(t)
	if exit := p.ProcessState.ExitCode(); exit != 128+9 && exit != 128+15 { // by the signal that ended the command, or after it the campaign
		t.Errorf("exit code %d", exit)
	}
	p.want(t, p.ProcessState.ExitCode(), `lost "scheduler"`)
}

// hook is a writer that calls do before it takes something with word in it, the first time.
type hook struct {
	word string
	do   func()
	once sync.Once

	mu   sync.Mutex // guards the rest
	text strings.Builder
}

func (h *hook) Write(p []byte) (int, error) {
	if strings.Contains(string(p), h.word) {
		h.once.Do(h.do)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *hook) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// A command that has ended by itself does not run again, though the leadership is lost before wheellock has resigned.
func TestACommandThatHasEndedDoesNotRunAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	outside := testkit.Connect(t, server.Addr())
	ctx, stop := context.WithCancel(context.Background())
	var other sync.WaitGroup
	defer other.Wait()
	defer stop()
	said := &hook{word: `"event":"ended"`, do: func() {
		server.MustDo("DEL", "scheduler")
		leads := make(chan struct{})
		other.Go(func() {
			_ = elect.New(outside, "scheduler", elect.Options{}).Run(ctx, func(ctx context.Context, _ int64) error {
				close(leads) // so wheellock knows that it does not
				return context.Canceled
			})
		})
		testkit.Receive(t, "another leader", leads)
	}}
	exit := run(t.Context(), patiently([]string{"elect", "--json", "--redis", server.URL(), "scheduler", "--", "true"}), strings.NewReader(""), io.Discard, said)
	if times := strings.Count(said.String(), `"event":"granted"`); exit != 0 || times != 1 {
		t.Errorf("exit code %d, and the command ran %d times; want 0 and once:\n%s", exit, times, said)
	}
}
