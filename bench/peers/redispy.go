package main

import (
	"path/filepath"
	"time"
)

// redisPyEntry is the Lock of redis-py, driven by the program of internal/interop/suites/polyglot. folder is that package's, with its .venv.
func redisPyEntry(folder string) entry {
	return entry{
		name: "redis-py",
		settings: "Lock with its default pause of 100 ms between two questions, a thread per caller; its times are of whole pairs, its threads keep their " +
			"names, and exclusion is not checked",
		lacks:    "polls instead of being woken; no renewal, no fencing token; order of waiters is by chance",
		title:    "redis-py (Python)",
		commands: []string{"set", "hello", "client"},
		measure: driven{warmUp: time.Second, command: func(s *server) []string {
			return []string{filepath.Join(folder, ".venv", "bin", "python"), filepath.Join(folder, "driver.py"), s.url}
		}}.measure,
		takes: func(w work) bool {
			return w.Load == blocking && w.Kind == "" && (w.Hot == 1 || w.apart()) && !w.together()
		},
	}
}
