package main

import (
	"archive/tar"
	"bytes"
	"compress/bzip2"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// olderCommit is the last one in which a release gives a lock for two seconds, and only to waiters that the watchdog renews. testdata/older.tar.bz2
// has its engine: a clone may be without history.
// It was made by
//
//	git archive $olderCommit ':(glob)engine/*.go' engine/internal/leaders futures scripts wheel dispatcher \
//		':(exclude)*_test.go' ':(exclude)*.md' | bzip2 -9
//
// Once there is a release, that is the older version, and the module proxy has it.
const olderCommit = "b50a1c1b3b946adc0a2b6e33f84d05fbe8fdf8bf"

// olderReach stands in for what loadgen asks of the present version besides: the older one does not ask each address of a cluster alone.
const olderReach = `package topology

import (
	"context"

	"github.com/redis/rueidis"
)

func Reach(ctx context.Context, o rueidis.ClientOption, connect func(context.Context, rueidis.ClientOption) (rueidis.Client, error)) (rueidis.Client, *Map, error) {
	client, err := connect(ctx, o)
	return client, nil, err
}
`

// In a rolling update processes of an older version share names with those of this one. They exclude each other, each version gets on, and
// nothing is free for longer than PollCap while somebody waits for it.
func TestOlderVersionInTheFleet(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	older := buildOlder(t)
	for _, kind := range []string{
		"mutex", "fenced", "simple", "fair", "rw --readers 0.5", "semaphore --permits 2", "permits --permits 1",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			args := append(strings.Fields("--names 1 --hold 1ms --warmup 0 --redis "+server.URL()+" --kind"), strings.Fields(kind)...)
			if kind == "mutex" || kind == "fair" { // who is alone on each side
				wantFleetShares(t, older, 1, 1, append(args, "--workers", "2", "--think", "5ms"))
			}
			wantFleetShares(t, older, 2, 2, append(args, "--workers", "8"))
		})
	}
}

// wantFleetShares has processes of the older and of this version share a name. On a busy machine, where the turns of two seconds say little about
// who has them, it lets them go on for longer.
func wantFleetShares(t *testing.T, older string, olders, presents int, args []string) {
	t.Helper()
	const longest = 2*time.Second + time.Second // PollCap of both versions, on a busy machine
	programs := slices.Concat(slices.Repeat([]string{older}, olders), slices.Repeat([]string{os.Args[0]}, presents))
	file := filepath.Join(t.TempDir(), "result.json")
	args = append(args, "--processes", strconv.Itoa(len(programs)), "--json", file)
	for _, duration := range []string{"2s", "8s"} {
		g := game{programs: programs}
		g.play(append(args, "--duration", duration)...)
		g.want(t, exitOK, "no violation, no key left behind, nobody stranded")
		r := result(t, file)
		if r.Latency.Across == nil {
			t.Fatal("no process has it from another")
		}
		wait, free := microseconds(r.Latency.Acquire.Max), microseconds(r.Latency.Across.Max)
		t.Logf("pairs of %d older processes and %d of this version: %v; waits of %v at most, of which it was free for %v", olders, presents, r.Processes, wait, free)
		if free > longest {
			t.Errorf("it was free for %v while somebody of another process waited, want %v at most", free, longest)
		}
		if bothGetOn(pairs(r.Processes[:olders]), pairs(r.Processes[olders:])) {
			return
		}
	}
	t.Error("a version has less than one pair of a hundred")
}

// bothGetOn reports whether each version has a pair of a hundred. Usually the one that has fewer has five to twenty.
func bothGetOn(a, b int64) bool { return min(a, b) > 0 && 100*min(a, b) >= a+b }

func pairs(of []report.Process) (sum int64) {
	for _, p := range of {
		sum += p.Pairs
	}
	return sum
}

func microseconds(n float64) time.Duration { return time.Duration(n) * time.Microsecond }

// buildOlder builds this program with the engine of olderCommit, and returns its path.
func buildOlder(t *testing.T) (program string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	testkit.Must(t, err)
	dir, files := t.TempDir(), olderFiles(t)
	replace := make(map[string]string) // files of the repository by those that the build takes in their place; "": none
	for path := range files {
		present, err := filepath.Glob(filepath.Join(root, filepath.Dir(path), "*.*"))
		testkit.Must(t, err)
		for _, other := range present {
			replace[other] = ""
		}
	}
	files["dispatcher/topology/reach.go"] = []byte(olderReach)
	const arguments = "dispatcher/rediserr/arguments.go" // which errors of the programs need
	if files[arguments], err = os.ReadFile(filepath.Join(root, arguments)); err != nil {
		t.Fatal(err)
	}
	replace[filepath.Join(root, "internal/load/limit.go")] = ""
	written := 0
	for path, text := range files {
		laid := filepath.Join(dir, strconv.Itoa(written)+filepath.Ext(path))
		testkit.Must(t, os.WriteFile(laid, text, 0o600))
		replace[filepath.Join(root, path)] = laid
		written++
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	testkit.Must(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	testkit.Must(t, os.WriteFile(overlay, list, 0o600))
	program = filepath.Join(dir, "loadgen")
	if said, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-overlay", overlay, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("building the older version: %v\n%s", err, said)
	}
	return program
}

// olderFiles are those of the archive, by their paths.
func olderFiles(t *testing.T) map[string][]byte {
	t.Helper()
	file, err := os.Open("testdata/older.tar.bz2")
	testkit.Must(t, err)
	defer file.Close()
	return untar(t, bzip2.NewReader(file))
}

// untar reads the files of an archive.
func untar(t *testing.T, from io.Reader) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	for archive := tar.NewReader(from); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err == nil && header.Typeflag == tar.TypeReg {
			files[header.Name], err = io.ReadAll(archive)
		}
		testkit.Must(t, err)
	}
}

// The archive is what the commit had.
func TestOlderVersionIsTheCommit(t *testing.T) {
	commit, err := exec.Command("git", "-C", "../..", "archive", olderCommit).Output()
	if err != nil {
		t.Skipf("SKIPPED: this clone is without the commit %s. NOT PROVED: that the archive is what that commit had.", olderCommit)
	}
	had := untar(t, bytes.NewReader(commit))
	for path, text := range olderFiles(t) {
		if !bytes.Equal(text, had[path]) {
			t.Errorf("%s differs from that of the commit", path)
		}
	}
}
