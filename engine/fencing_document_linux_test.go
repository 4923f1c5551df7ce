package engine_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/testkit/child"
)

// postgres is a Postgres server of a test, reached through a socket in its directory.
type postgres struct{ dir string }

// startPostgres starts one. It does not run as root, so root lends it another user.
func startPostgres(t *testing.T) *postgres {
	t.Helper()
	programs := func(name string) string {
		if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); err == nil && len(found) > 0 {
			return found[len(found)-1]
		}
		path, err := exec.LookPath(name)
		if err != nil && os.Getenv("CI") != "" {
			t.Fatalf("%s not found: apt-get install postgresql. In CI a missing server is a failure.", name)
		} else if err != nil {
			t.Skipf("SKIPPED: %s not found: apt-get install postgresql. NOT PROVED: the SQL of docs/FENCING.md.", name)
		}
		return path
	}
	initdb, server := programs("initdb"), programs("postgres")
	dir, err := os.MkdirTemp("", "pg") // a socket's path must be short
	testkit.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	as := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		nobody, err := user.Lookup("nobody")
		testkit.Must(t, err)
		uid, _ := strconv.Atoi(nobody.Uid)
		gid, _ := strconv.Atoi(nobody.Gid)
		as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		testkit.Must(t, os.Chown(dir, uid, gid))
	}
	data := filepath.Join(dir, "data")
	create := exec.Command(initdb, "-D", data, "-U", "tester", "-A", "trust", "--no-sync", "--locale=C")
	create.Dir, create.SysProcAttr = dir, as
	if said, err := create.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, said)
	}
	run := exec.Command(server, "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off")
	run.Dir, run.SysProcAttr = dir, as
	log, err := os.Create(filepath.Join(dir, "log"))
	testkit.Must(t, err)
	defer log.Close()
	run.Stderr = log
	process, err := child.Start(run)
	testkit.Must(t, err)
	t.Cleanup(func() {
		run.Process.Signal(syscall.SIGQUIT)
		<-process.Done()
	})
	p := &postgres{dir}
	for until := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // sleeps: the pace of questions
		if _, err := p.command("-c", "SELECT 1").CombinedOutput(); err == nil {
			return p
		} else if time.Now().After(until) {
			said, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("postgres does not answer: %s", said)
		}
	}
}

func (p *postgres) command(args ...string) *exec.Cmd {
	return exec.Command("psql", append([]string{"-X", "-h", p.dir, "-U", "tester", "-d", "postgres", "-v", "ON_ERROR_STOP=1"}, args...)...)
}

// ask runs a statement, and returns what psql says.
func (p *postgres) ask(sql string) string {
	said, _ := p.command("-A", "-t", "-c", sql).CombinedOutput()
	return strings.TrimSpace(string(said))
}

// session is a connection in which a transaction can stay open.
type session struct {
	*exec.Cmd
	in  io.WriteCloser
	out strings.Builder
}

func (p *postgres) begin(t *testing.T, sql string) *session {
	t.Helper()
	s := &session{Cmd: p.command("-A", "-t", "-q")}
	s.Stdout, s.Stderr = &s.out, &s.out
	in, err := s.StdinPipe()
	testkit.Must(t, err)
	s.in = in
	testkit.Must(t, s.Start())
	fmt.Fprintln(s.in, sql)
	return s
}

// end lets it run to its end, and returns what it said.
func (s *session) end(sql string) string {
	fmt.Fprintln(s.in, sql)
	s.in.Close()
	s.Wait()
	return s.out.String()
}

// await returns when a query answers with a word.
func (p *postgres) await(t *testing.T, sql, want string) {
	t.Helper()
	for until := time.Now().Add(time.Minute); p.ask(sql) != want; time.Sleep(20 * time.Millisecond) { // sleeps: the pace of questions
		if time.Now().After(until) {
			t.Fatalf("%s is %q, want %q", sql, p.ask(sql), want)
		}
	}
}

func TestFencingDocument(t *testing.T) {
	t.Parallel()
	t.Run("its program compiles", func(t *testing.T) { vetProgram(t, "docs/FENCING.md", "package ") })
	p := startPostgres(t)
	answers := 0
	for _, block := range testkit.CodeBlocks(t, "docs/FENCING.md", "sql") {
		if !strings.Contains(block, "\n-- ") {
			if said, err := p.command("-c", block).CombinedOutput(); err != nil {
				t.Fatalf("%s\n%s", block, said)
			}
			continue
		}
		for _, statement := range regexp.MustCompile("(?m)^([^-].*;)\n-- (.*)$").FindAllStringSubmatch(block, -1) {
			sql, want := statement[1], statement[2]
			said := p.ask(sql)
			answers++
			failed := strings.HasPrefix(said, "ERROR")
			told := regexp.MustCompile(`^(ERROR|UPDATE|INSERT)`).MatchString(want)
			if told && strings.Split(said, "\n")[0] != want || !told && failed {
				t.Errorf("%s\nsays %q, want %q", sql, said, want)
			}
		}
	}
	if answers != 7 {
		t.Errorf("%d statements with an answer were run, want 7", answers)
	}

	const waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
	for _, c := range []struct {
		first, second int
		isolation     string
		refusal       string // empty: it passes
	}{
		{50, 51, "READ COMMITTED", ""},
		{61, 60, "READ COMMITTED", "fenced off"},
		{70, 71, "REPEATABLE READ", "could not serialize"},
	} {
		t.Run(fmt.Sprintf("%d waits for %d to commit, %s", c.second, c.first, c.isolation), func(t *testing.T) {
			first := p.begin(t, fmt.Sprintf("BEGIN; SELECT pass_fence('shelf', %d);", c.first))
			p.await(t, "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'", "1")
			second := p.begin(t, fmt.Sprintf("BEGIN ISOLATION LEVEL %s; SELECT pass_fence('shelf', %d);", c.isolation, c.second))
			p.await(t, waiting, "1")
			if said := first.end("COMMIT;"); strings.Contains(said, "ERROR") {
				t.Errorf("the first: %s", said)
			}
			if said := second.end("COMMIT;"); !strings.Contains(said, c.refusal) || c.refusal == "" && strings.Contains(said, "ERROR") {
				t.Errorf("the second: %q, want %q", said, c.refusal)
			}
			want := c.first
			if c.refusal == "" {
				want = c.second
			}
			if got := p.ask("SELECT token FROM fence WHERE name = 'shelf'"); got != strconv.Itoa(want) {
				t.Errorf("the token is %s, want %d", got, want)
			}
		})
	}
}
