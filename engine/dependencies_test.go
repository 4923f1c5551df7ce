package engine_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/wheellock/wheellock"

// pack is a package as go list tells it.
type pack struct {
	ImportPath string
	Imports    []string
	Standard   bool
	Module     *struct{ Path string }
}

// list runs go list with these arguments.
func list(t *testing.T, args ...string) []pack {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Standard,Module"}, args...)...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, complaints.String())
	}
	var packs []pack
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pack
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packs
		} else if err != nil {
			t.Fatal(err)
		}
		packs = append(packs, p)
	}
}

// A program that imports the engine links the four packages it is built on, what these need, and nothing else.
func TestEngineLinksLittle(t *testing.T) {
	allowed := []string{
		module,
		"github.com/redis/rueidis", "golang.org/x/sys", // which rueidis and the wheel's clock need
		"github.com/panjf2000/ants/v2", "golang.org/x/sync", // which ants needs
		"github.com/RussellLuo/timingwheel",
		"go.uber.org/atomic",
	}
	seen := map[string]bool{}
	for _, p := range list(t, "-deps", module+"/engine") {
		if p.Standard {
			continue
		}
		seen[p.Module.Path] = true
		if !slices.Contains(allowed, p.Module.Path) {
			t.Errorf("the engine links %s", p.ImportPath)
		}
	}
	for _, path := range allowed {
		if !seen[path] {
			t.Errorf("the engine does not link %s any more: take it off the list", path)
		}
	}
}

// Every package imports only the packages below it.
func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	t.Parallel()
	may := map[string][]string{
		"scripts":                 {},
		"futures":                 {},
		"wheel":                   {"wheel/stall"}, // which is empty without its build tag
		"dispatcher/gate":         {"scripts", "wheel"},
		"wheel/stall":             {},
		"engine/internal/leaders": {},
		// below the dispatcher: what is one connection, one subscription, one view of who serves what
		"dispatcher/quietsocket": {},
		"dispatcher/reconnect":   {},
		"dispatcher/respguard":   {"dispatcher/quietsocket"},
		"dispatcher/rediserr":    {"scripts", "dispatcher/gate"},
		"dispatcher/topology":    {"scripts", "dispatcher/gate"},
		"dispatcher/wire":        {"scripts", "dispatcher/gate"},
		"dispatcher/redisconn":   {"scripts", "wheel", "dispatcher/gate", "wheel/stall", "dispatcher/rediserr", "dispatcher/topology", "dispatcher/wire"},
		"dispatcher/subscriber":  {"dispatcher/gate", "wheel/stall", "dispatcher/reconnect", "dispatcher/rediserr", "dispatcher/topology"},
		"dispatcher": {"scripts", "wheel", "dispatcher/gate", "wheel/stall", "dispatcher/reconnect", "dispatcher/rediserr",
			"dispatcher/topology", "dispatcher/wire", "dispatcher/redisconn", "dispatcher/subscriber"},
		"engine": {"scripts", "futures", "wheel", "dispatcher/gate", "engine/internal/leaders", "wheel/stall", "dispatcher", "dispatcher/rediserr",
			"dispatcher/topology", "dispatcher/wire", "dispatcher/redisconn", "dispatcher/respguard"},
		"engine/elect": {"scripts", "futures", "engine", "engine/internal/leaders"},
		// for tests
		"engine/enginetest":      {"engine", "scripts"},
		"internal/redistest":     {"internal/testkit/child", "internal/testkit/redisserver", "internal/testkit/resp"},
		"internal/testkit/child": {}, "internal/testkit/resp": {},
		"internal/testkit/redisserver": {"internal/testkit/child", "internal/testkit/resp"},
	}
	var paths []string
	for name := range may {
		paths = append(paths, module+"/"+name)
	}
	for _, p := range list(t, paths...) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, imported := range p.Imports {
			ours, isOurs := strings.CutPrefix(imported, module+"/")
			if isOurs && !slices.Contains(may[name], ours) {
				t.Errorf("%s imports %s", name, ours)
			}
		}
	}
}
