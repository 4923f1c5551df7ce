package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// childrenOf lists the processes whose parent is pid, by what stands on their command lines.
func childrenOf(t *testing.T, pid int, word string) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	testkit.Must(t, err)
	for _, path := range stats {
		stat, _ := os.ReadFile(path) // a process may end at any time
		_, after, _ := bytes.Cut(stat, []byte(") "))
		if words := strings.Fields(string(after)); len(words) < 2 || words[1] != strconv.Itoa(pid) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if strings.Contains(string(line), word) {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, child)
		}
	}
	return pids
}

// Locks of a child that dies are waited for; the others are stopped, and the death is told.
func TestRunTellsOfAChildThatDies(t *testing.T) {
	server := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "result.json")
	var g game
	g.on = map[string]func(string){"phase=measured": func(string) {
		victims := childrenOf(t, os.Getpid(), childRole)
		if len(victims) != 3 {
			t.Fatalf("%d children, want 3", len(victims))
		}
		testkit.Must(t, syscall.Kill(slices.Max(victims), syscall.SIGKILL))
	}}
	g.play("--redis", server.URL(), "--processes", "3", "--names", "3", "--workers", "12", "--hold", "5ms", "--lease", "700ms", "--warmup", "0", "--duration", "1h", "--json", file)
	g.want(t, exitFailed, "died: signal: killed; the run ends here")
	r := result(t, file)
	if dead := slices.DeleteFunc(r.Processes, func(p report.Process) bool { return p.Died == "" }); len(dead) != 1 || dead[0].Died != "signal: killed" {
		t.Errorf("processes that died: %+v, want one", dead)
	}
	if len(r.Checks.KeysLeft) > 0 || r.Checks.Violations > 0 {
		t.Errorf("checks %+v", r.Checks)
	}
	if keys := server.Keys(); len(keys) > 0 {
		t.Errorf("keys left: %q", keys)
	}
}

func TestRunTellsOfAServerThatDies(t *testing.T) {
	redistest.Require(t, "redis-server")
	name, tmp, _ := strings.Cut(temporary(t), "=")
	t.Setenv(name, tmp)
	var g game
	g.on = map[string]func(string){"phase=measured": func(string) {
		keepers := childrenOf(t, os.Getpid(), keeperRole)
		if len(keepers) != 1 {
			t.Fatalf("%d keepers, want 1", len(keepers))
		}
		for _, server := range childrenOf(t, keepers[0], "redis-server") {
			syscall.Kill(server, syscall.SIGKILL)
		}
	}}
	g.play("--think", "5ms", "--warmup", "0", "--duration", "1h")
	g.want(t, exitFailed, "redis-server ended in the middle of the run: signal: killed", "throughput")
}

// Ctrl-C on a terminal goes to the whole group of processes. The load ends early, in order, and all goes.
func TestCtrlC(t *testing.T) {
	t.Parallel()
	redistest.Require(t, "redis-server")
	for _, processes := range []string{"1", "2"} {
		t.Run(processes+" processes", func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "--processes", processes, "--workers", "8", "--think", "10ms", "--duration", "1h", "--warmup", "100ms")
			cmd.Env = append(os.Environ(), asProgram+"=1", temporary(t))
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			testkit.Must(t, err)
			testkit.Must(t, cmd.Start())
			defer cmd.Process.Kill()
			said, pids := "", []int{}
			for lines := bufio.NewScanner(out); lines.Scan(); {
				said += lines.Text() + "\n"
				if len(pids) == 0 && strings.Contains(lines.Text(), "phase=measured") {
					pids = childrenOf(t, cmd.Process.Pid, "-")
					syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("it ended with %v", err)
			}
			for _, word := range []string{"ended early)", "acquire", "no violation, no key left behind, nobody stranded"} {
				if !strings.Contains(said, word) {
					t.Errorf("it does not say %q:\n%s", word, said)
				}
			}
			if want := map[string]int{"1": 1, "2": 3}[processes]; len(pids) != want {
				t.Errorf("%d processes under it, want %d", len(pids), want)
			}
			for _, pid := range pids {
				if syscall.Kill(pid, 0) != syscall.ESRCH {
					t.Errorf("process %d is left", pid)
				}
			}
		})
	}
}

// A child whose parent is gone gives back its locks and ends.
func TestChildWithoutAParent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	cmd := exec.Command(os.Args[0], childRole)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	testkit.Must(t, err)
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	defer cmd.Process.Kill()
	fmt.Fprintf(stdin, `{"share":{"plan":{"prefix":"loadgen:x:","names":1,"workers":1,"processes":1,"hold_ns":3600000000000,"duration_ns":3600000000000},"where":[{"url":%q}]}}`+"\n{\"go\":true}\n", server.URL())
	lines := bufio.NewScanner(out)
	for lines.Scan() && len(server.Keys()) == 0 { // a sample comes every second
	}
	if len(server.Keys()) != 1 {
		t.Fatal("the child never held its lock")
	}
	out.Close()   // nobody listens any more,
	stdin.Close() // nobody gives orders
	cmd.Wait()
	if keys := server.Keys(); len(keys) > 0 {
		t.Errorf("locks left: %q", keys)
	}
}

// What a script starts with & ignores INT and QUIT, and so does loadgen then.
func TestSignalsThatWereIgnored(t *testing.T) {
	t.Parallel()
	redistest.Require(t, "redis-server")
	cmd := exec.Command("sh", "-c", `trap '' INT QUIT; exec "$0" "$@"`, os.Args[0], "--workers", "1", "--think", "10ms", "--duration", "300ms", "--warmup", "0")
	cmd.Env = append(os.Environ(), asProgram+"=1", temporary(t))
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	lines.Scan() // its signals are set
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	for lines.Scan() {
	}
	_, ignored, _ := strings.Cut(string(status), "\nSigIgn:\t")
	mask, _ := strconv.ParseUint(ignored[:min(16, len(ignored))], 16, 64)
	if err := cmd.Wait(); err != nil || mask&6 != 6 {
		t.Errorf("%v; it ignores %x, want INT and QUIT, 6, among them", err, mask)
	}
}
