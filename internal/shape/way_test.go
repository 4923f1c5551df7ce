package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rounds is how often the lock is taken: what runs as often is on its way.
const rounds = 2000

// wayOfALock counts the files of which something runs each time when a lock that nobody else wants is taken and given back.
func wayOfALock(root string) (int, error) {
	dir, err := os.MkdirTemp("", "shape")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary, counts, profile := filepath.Join(dir, "lockpath"), filepath.Join(dir, "counts"), filepath.Join(dir, "profile")
	if err := os.Mkdir(counts, 0o700); err != nil {
		return 0, err
	}
	listed, err := exec.Command("go", "list", "-deps", "./lockpath").Output()
	if err != nil {
		return 0, err
	}
	ours := slices.DeleteFunc(strings.Fields(string(listed)), func(path string) bool { return !strings.HasPrefix(path, module+"/") })
	build := exec.Command("go", "build", "-cover", "-covermode=count", "-coverpkg="+strings.Join(ours, ","), "-o", binary, "./lockpath")
	if said, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, said)
	}
	addr, stop, err := redis(dir)
	if err != nil {
		return 0, err
	}
	defer stop()
	run := exec.Command(binary, addr, strconv.Itoa(rounds))
	run.Env = append(os.Environ(), "GOCOVERDIR="+counts)
	if said, err := run.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, said)
	}
	if said, err := exec.Command("go", "tool", "covdata", "textfmt", "-i="+counts, "-o="+profile).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, said)
	}
	return filesIn(profile)
}

// redis starts a server that ends with stop.
func redis(dir string) (addr string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr = l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	server := exec.Command("redis-server", "--port", port, "--save", "", "--dir", dir)
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}
	for range 100 {
		if conn, err := net.Dial("tcp", addr); err == nil {
			return addr, stop, conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("redis-server does not listen at %s", addr)
}

// filesIn counts the files of a profile of which something ran in every round. Its lines are "file:from,to statements count".
func filesIn(profile string) (int, error) {
	f, err := os.Open(profile)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	files := make(map[string]bool)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			continue
		}
		file, _, _ := strings.Cut(fields[0], ":")
		if n, err := strconv.Atoi(fields[2]); err == nil && n >= rounds && !strings.HasPrefix(file, module+"/internal/shape/") {
			files[file] = true
		}
	}
	return len(files), nil
}
