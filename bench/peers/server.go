package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// server is a redis-server of our own: on a free port, keeping nothing on disk, gone after Close.
type server struct {
	url       string
	version   string
	benchmark string // path of redis-benchmark
	folder    string // its own; holds the shared memory of the turns too
	process   *exec.Cmd
	control   *wire // owned by the goroutine that runs the turns
}

const serverStart = 10 * time.Second

// startServer returns when the server answers. It keeps to the processor cpu, unless that is empty.
func startServer(ctx context.Context, path, cpu string) (*server, error) {
	folder, err := os.MkdirTemp("", "peers")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &server{url: "redis://127.0.0.1:" + port, benchmark: besidePath(path, "redis-benchmark"), folder: folder}
	command := []string{path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", folder, "--logfile", filepath.Join(folder, "redis.log")}
	if cpu != "" {
		command = append([]string{"taskset", "--cpu-list", cpu}, command...)
	}
	s.process = exec.Command(command[0], command[1:]...)
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us alone
	if err := s.process.Start(); err != nil {
		os.RemoveAll(folder)
		return nil, fmt.Errorf("starting redis-server, which --redis-server may name: %w", err)
	}
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// connect tries until the server takes connections.
func (s *server) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serverStart)
	defer cancel()
	for {
		var err error
		if s.control, err = dialWire(s.url); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("redis-server does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	info, err := s.control.do("INFO", "server")
	if err != nil {
		return err
	}
	for line := range strings.Lines(info.text) {
		if version, is := strings.CutPrefix(strings.TrimSpace(line), "redis_version:"); is {
			s.version = version
		}
	}
	return nil
}

// clear empties Redis; scripts and connections stay as they are.
func (s *server) clear() error {
	_, err := s.control.do("FLUSHALL")
	return err
}

// Close stops the server and removes its folder.
func (s *server) Close() error {
	if s.control != nil {
		s.control.close()
	}
	s.process.Process.Kill()
	s.process.Wait() // killed is how it is meant to end
	return os.RemoveAll(s.folder)
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}

// besidePath is the program of that name in the same folder, or on the PATH when path has no folder.
func besidePath(path, name string) string {
	if !strings.ContainsRune(path, filepath.Separator) {
		return name
	}
	return filepath.Join(filepath.Dir(path), name)
}
