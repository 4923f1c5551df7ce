package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// environment is what a figure depends on besides the code.
type environment struct {
	Date    string            `json:"date"`
	CPU     string            `json:"cpu"`
	Cores   int               `json:"cores"`
	System  string            `json:"system"`
	Go      string            `json:"go"`
	Servers string            `json:"servers"`
	Modules map[string]string `json:"modules"`
}

func newEnvironment(servers []*server, now time.Time) environment {
	e := environment{
		Date: now.UTC().Format(time.DateOnly), CPU: cpuModel(), Cores: runtime.NumCPU(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Modules: make(map[string]string),
	}
	var names []string
	for _, s := range servers {
		names = append(names, s.name)
	}
	e.Servers = strings.Join(names, ", ")
	build, _ := debug.ReadBuildInfo()
	if build == nil {
		return e
	}
	for _, module := range build.Deps {
		e.Modules[module.Path] = module.Version
	}
	return e
}

func (e environment) String() string {
	return fmt.Sprintf("%s, %s, %d cores shared by Redis and its clients, %s, %s, %s, loopback",
		e.Date, e.CPU, e.Cores, e.System, e.Go, e.Servers)
}

// cpuModel is what Linux calls the processor, else the architecture.
func cpuModel() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // only Linux has it
	for line := range strings.Lines(string(info)) {
		if key, value, is := strings.Cut(line, ":"); is && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
