// Command modules shows that the modules of a release can be got: it makes a module proxy of the last commit, as if that had the tags
// of the version, and has a program outside of the repository require and import each released module. Then it runs the Go commands of
// docs/INSTALL.md there, and the programs that these have installed.
//
//	go -C internal/shape run ./modules v0.1.0
//
// What the modules themselves require comes from the proxies that the Go command is set to.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// unreleased are modules in contrib that are for the tests of this repository.
var unreleased = []string{"contrib/prometheustest"}

func main() {
	if len(os.Args) != 2 || !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(os.Args[1]) {
		fmt.Fprintln(os.Stderr, "modules: name the version, such as v0.1.0")
		os.Exit(2)
	}
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "modules:", err)
		os.Exit(1)
	}
}

func check(version string) error {
	dir, err := os.MkdirTemp("", "modules")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	defer run("", nil, "chmod", "-R", "u+w", dir) // a module cache cannot be removed otherwise
	clone := filepath.Join(dir, "clone")
	if _, err := run("", nil, "git", "clone", "-q", "--depth", "1", "file://"+root(), clone); err != nil {
		return err
	}
	released, err := modulesIn(clone)
	if err != nil {
		return err
	}
	for _, m := range released {
		if err := m.publish(filepath.Join(dir, "proxy"), version); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	usual, err := exec.Command("go", "env", "GOPROXY").Output()
	if err != nil {
		return err
	}
	settings := []string{
		"GOPROXY=file://" + filepath.Join(dir, "proxy") + "," + strings.TrimSpace(string(usual)), "GONOSUMDB=github.com/wheellock/*", "GOWORK=off",
		"GOFLAGS=-mod=mod -trimpath",                // what was compiled in another module cache is taken
		"GOMODCACHE=" + filepath.Join(dir, "cache"), // ours are not to stay in the usual one
		"GOBIN=" + filepath.Join(dir, "bin"),
	}
	program := filepath.Join(dir, "program")
	for _, m := range released {
		if err := m.use(program, settings, version); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
		fmt.Println(m.path + "@" + version)
	}
	return install(filepath.Join(clone, "docs", "INSTALL.md"), program, settings, version)
}

// install runs the Go commands of the page in the folder of a program. What they install says that it is of the version.
func install(page, program string, settings []string, version string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	for _, command := range regexp.MustCompile(`(?m)^    (go (?:get|install) .*)$`).FindAllSubmatch(text, -1) {
		if _, err := run(program, settings, "sh", "-c", string(command[1])); err != nil {
			return err
		}
		fmt.Println(string(command[1]))
	}
	for _, name := range []string{"wheellock", "loadgen"} {
		said, err := run("", nil, filepath.Join(filepath.Dir(program), "bin", name), "--version")
		if err != nil {
			return err
		}
		if !strings.HasPrefix(said, name+" "+version+" ") {
			return fmt.Errorf("%s says that it is %q", name, said)
		}
	}
	return nil
}

func root() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}

// released is a module of the repository that users get.
type released struct {
	path string // what they import
	dir  string
	text []byte // its go.mod
}

// modulesIn finds the module at the top and those in contrib.
func modulesIn(clone string) (all []released, err error) {
	dirs, err := filepath.Glob(filepath.Join(clone, "contrib", "*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range append([]string{clone}, dirs...) {
		if slices.ContainsFunc(unreleased, func(u string) bool { return dir == filepath.Join(clone, u) }) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		all = append(all, released{modfile.ModulePath(text), dir, text})
	}
	return all, nil
}

// publish writes what a proxy has of the module.
func (r *released) publish(proxy, version string) error {
	file, err := modfile.Parse("go.mod", r.text, nil)
	if err != nil {
		return err
	}
	for _, required := range file.Require {
		if strings.HasPrefix(required.Mod.Path, "github.com/wheellock/wheellock") && required.Mod.Version != version {
			return fmt.Errorf("its go.mod requires %s, and has to require %s", required.Mod, version)
		}
	}
	dir := filepath.Join(proxy, r.path, "@v")
	var packed bytes.Buffer
	if err := zip.CreateFromDir(&packed, module.Version{Path: r.path, Version: version}, r.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".info": fmt.Appendf(nil, `{"Version":%q}`, version), version + ".mod": r.text, version + ".zip": packed.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// use has a program get the module and import it.
func (r *released) use(dir string, settings []string, version string) error {
	imported := r.path
	if r.path == "github.com/wheellock/wheellock" { // the top has no package
		imported += "/engine"
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	program := fmt.Sprintf("package main\n\nimport _ %q\n\nfunc main() {}\n", imported)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{{"mod", "init", "example.com/program"}, {"get", r.path + "@" + version}, {"vet", "."}} {
		if _, err := run(dir, settings, "go", args...); err != nil {
			return err
		}
	}
	return nil
}

// run runs a command, and returns what it said.
func run(dir string, settings []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), settings...)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said)
	}
	return string(said), nil
}
