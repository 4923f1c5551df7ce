// Package examples has complete programs; this test builds and runs them, as README.md says, on a real redis-server.
package examples

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

var built string // the directory of the programs

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "examples")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		built = dir
		if said, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir, "./...").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, said)
			return 1
		}
		return m.Run()
	}())
}

// program is an example that runs.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner // what it prints and logs
}

func start(t *testing.T, name, redis string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(filepath.Join(built, name), append([]string{"-redis", redis}, args...)...)}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr, p.lines = in, in, bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		_ = out.Close()
	})
	return p
}

// says waits for a line that contains a text, and returns the line.
func (p *program) says(text string) string {
	p.t.Helper()
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), text) {
			return p.lines.Text()
		}
	}
	p.t.Fatalf("%v ended, and did not say %q", p.cmd, text)
	return ""
}

// ends waits for the end, which must be an orderly one, and returns the lines that were not read yet.
func (p *program) ends() (lines []string) {
	p.t.Helper()
	for p.lines.Scan() {
		lines = append(lines, p.lines.Text())
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("%v: %v, after %q", p.cmd, err, lines)
	}
	return lines
}

func (p *program) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
}

// url waits until a server serves.
func (p *program) url() string {
	p.t.Helper()
	_, url, _ := strings.Cut(p.says("serving on "), "serving on ")
	return url
}

// answer is what a program answers to a request.
type answer struct {
	status int
	body   string
	header http.Header
}

func (a answer) String() string { return fmt.Sprintf("%d %q", a.status, a.body) }

func send(t *testing.T, method, url string, header ...string) answer {
	r, err := http.NewRequestWithContext(testkit.Soon(t), method, url, nil)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	for i := 0; i < len(header); i += 2 {
		if header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	text, err := io.ReadAll(got.Body)
	if err := errors.Join(err, got.Body.Close()); err != nil {
		t.Error(err)
	}
	return answer{got.StatusCode, strings.TrimSpace(string(text)), got.Header}
}

func TestWorkersDoEachJobOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	first, second := start(t, "worker", server.URL()), start(t, "worker", server.URL())
	done := slices.Concat(first.ends(), second.ends())
	jobs := make(map[string]bool)
	for _, line := range done {
		job, _, _ := strings.Cut(line, " done ")
		if jobs[job] {
			t.Errorf("done twice: %s", job)
		}
		jobs[job] = true
	}
	for i := range 20 {
		if job := fmt.Sprintf("job:%02d", i); !jobs[job] || server.MustDo("EXISTS", job+":done").Int != 1 {
			t.Errorf("not done: %s", job)
		}
	}
}

// A worker that is asked to stop gives up the job that it does, and takes no other.
func TestWorkerStops(t *testing.T) {
	t.Parallel()
	worker := start(t, "worker", redistest.Start(t).URL(), "-workers", "1", "-jobs", "5000")
	worker.says(" done by ")
	worker.stop()
	given := 0
	for _, line := range worker.ends() {
		if !strings.Contains(line, " done by ") {
			given++
		}
	}
	if given > 1 {
		t.Errorf("it gave up %d jobs", given)
	}
}

func TestCronGoesOnInAnotherProcess(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	first := start(t, "cron", server.URL(), "-every", "50ms")
	first.says("leads in term")
	first.says("runs the job")
	second := start(t, "cron", server.URL(), "-every", "50ms")
	first.stop()
	first.says("leads no more")
	first.ends()
	second.says("leads in term")
	second.says("runs the job")
	second.stop()
	second.ends()
}

func TestCacheFillRendersOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var fleet []*program
	pages := make([]string, 4)
	for range pages {
		fleet = append(fleet, start(t, "cachefill", server.URL(), "-listen", "127.0.0.1:0", "-keep", "1h"))
	}
	var wg sync.WaitGroup
	for i, p := range fleet {
		url := p.url()
		wg.Go(func() { pages[i] = send(t, http.MethodGet, url).body })
	}
	wg.Wait()
	rendered := 0
	for i, p := range fleet {
		if pages[i] != pages[0] || !strings.HasPrefix(pages[i], "rendered by process ") {
			t.Errorf("process %d answered %q, the first %q", i, pages[i], pages[0])
		}
		p.stop()
		rendered += len(p.ends())
	}
	if rendered != 1 {
		t.Errorf("rendered %d times", rendered)
	}
}

// Java's side of this example is run by make redisson.
func TestTwoGoProcessesShareTheStock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.MustDo("SET", "stock:7:count", "200")
	for _, p := range []*program{start(t, "gojava", server.URL()), start(t, "gojava", server.URL())} {
		if lines := p.ends(); !slices.Equal(lines, []string{"go: took 100"}) {
			t.Errorf("it said %q", lines)
		}
	}
	if left := server.MustDo("GET", "stock:7:count").Text; left != "0" {
		t.Errorf("%s items are left", left)
	}
}
