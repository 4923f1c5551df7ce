// Package release has the test of a release: it lets GoReleaser make all of one of the last commit, as if that had the tag, looks into what came out, and does
// what docs/INSTALL.md tells people to do.
package release_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

var version = flag.String("version", "v0.0.1", "the tag that the last commit is taken to have")

const base = "gcr.io/distroless/static-debian12:nonroot"

var (
	programs = []string{"loadgen", "wheellock"}
	targets  = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64"}
)

func TestRelease(t *testing.T) {
	r := rehearse(t)
	t.Run("archives", r.archives)
	t.Run("packages", r.packages)
	t.Run("images", r.images)
	t.Run("SBOMs", r.sboms)
	t.Run("checksums", r.checksums)
	t.Run("cask", r.cask)
	t.Run("docs/INSTALL.md", r.page)
}

// release is what GoReleaser has made.
type release struct {
	clone, dist, commit string
	registry            string // host and port
}

// rehearse releases the last commit: all is as .github/workflows/release.yml has it, but that nothing goes to GitHub, and that images go to a registry of our
// own, which has an empty image in place of their base.
func rehearse(t *testing.T) *release {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	clone := filepath.Join(t.TempDir(), "clone")
	r := &release{clone: clone, dist: filepath.Join(clone, "bin/release"), registry: strings.TrimPrefix(server.URL, "http://")}
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	run(t, exec.Command("git", "clone", "-q", "--depth", "1", "file://"+top, clone))
	for _, tag := range []string{*version, "contrib/flight/" + *version, "contrib/tusd/" + *version} {
		run(t, exec.Command("git", "-C", clone, "-c", "tag.gpgSign=false", "tag", tag))
	}
	r.commit = strings.TrimSpace(run(t, exec.Command("git", "-C", clone, "rev-parse", "HEAD")))

	index := v1.ImageIndex(empty.Index)
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: arch, RootFS: v1.RootFS{Type: "layers"}})
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	if err := remote.WriteIndex(reference(t, r.registry+"/base"), index); err != nil {
		t.Fatal(err)
	}
	usual := read(t, filepath.Join(clone, ".goreleaser.yaml"))
	if strings.Count(usual, base) != 1 {
		t.Fatalf(".goreleaser.yaml does not have %s once", base)
	}
	config := filepath.Join(t.TempDir(), "goreleaser.yaml")
	write(t, config, []byte(strings.ReplaceAll(usual, base, r.registry+"/base")))

	goreleaser := func(args ...string) *exec.Cmd {
		cmd := exec.Command("go", append([]string{"tool", "-modfile=tools/release/go.mod", "goreleaser"}, args...)...)
		cmd.Dir = clone
		cmd.Env = append(os.Environ(), "REHEARSAL=true", "HOMEBREW_TAP_TOKEN=", "GORELEASER_CURRENT_TAG="+*version, "KO_DOCKER_REPO="+r.registry+"/wheellock")
		return cmd
	}
	run(t, goreleaser("check"))
	run(t, goreleaser("release", "--clean", "--config", config))
	return r
}

// archives have the programs, completions, all licences, and nothing else.
func (r *release) archives(t *testing.T) {
	for _, target := range targets {
		goos, arch, _ := strings.Cut(target, "/")
		dir, exe := t.TempDir(), ""
		if goos == "windows" {
			exe = ".exe"
			unzip(t, filepath.Join(r.dist, "wheellock-windows-"+arch+".zip"), dir)
		} else {
			file, err := os.Open(filepath.Join(r.dist, "wheellock-"+goos+"-"+arch+".tar.gz"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			unpacked, err := gzip.NewReader(file)
			if err != nil {
				t.Fatal(err)
			}
			untar(t, unpacked, dir)
		}
		want := []string{"LICENSE", "completions/wheellock.bash", "completions/wheellock.fish", "completions/wheellock.zsh", "loadgen" + exe, "wheellock" + exe}
		if have := r.besidesLicenses(t, dir, "licenses", programs, target); !slices.Equal(have, want) {
			t.Errorf("%s has %q, want %q", target, have, want)
		}
		for _, program := range programs {
			r.check(t, filepath.Join(dir, program+exe), program, target, 0)
		}
	}
}

// packages install the same, licences and completions where the system looks for them, and the units of docs/KUBERNETES.md as examples.
func (r *release) packages(t *testing.T) {
	places := map[string][]string{
		"deb": {"usr/share/doc/wheellock/copyright", "usr/share/zsh/vendor-completions/_wheellock"},
		"rpm": {"usr/share/licenses/wheellock/LICENSE", "usr/share/zsh/site-functions/_wheellock"},
	}
	for format, own := range places {
		for _, arch := range []string{"amd64", "arm64"} {
			root := newRoot(t, format)
			if root == "" {
				continue
			}
			install := exec.Command("dpkg", "--root="+root, "--force-architecture", "-i", "wheellock-linux-"+arch+".deb")
			if format == "rpm" {
				install = exec.Command("rpm", "--root="+root, "--dbpath=/var/lib/rpm", "--ignorearch", "-i", "wheellock-linux-"+arch+".rpm")
			}
			install.Dir = r.dist
			run(t, asRoot(install))
			want := append([]string{
				"usr/bin/loadgen", "usr/bin/wheellock",
				"usr/share/bash-completion/completions/wheellock", "usr/share/fish/vendor_completions.d/wheellock.fish",
				"usr/share/doc/wheellock/examples/report.service", "usr/share/doc/wheellock/examples/report.timer",
			}, own...)
			slices.Sort(want)
			licenses := map[string]string{"deb": "usr/share/doc/wheellock/licenses", "rpm": "usr/share/licenses/wheellock"}[format]
			have := r.besidesLicenses(t, root, licenses, programs, "linux/"+arch)
			have = slices.DeleteFunc(have, func(name string) bool { return strings.HasPrefix(name, "var/") })
			if !slices.Equal(have, want) {
				t.Errorf("%s for %s installs %q, want %q", format, arch, have, want)
			}
			if unit := read(t, filepath.Join(root, "usr/share/doc/wheellock/examples/report.service")); !strings.Contains(unit, "\nExecStart=/usr/bin/wheellock lock ") {
				t.Errorf("%s: the unit does not start what is installed:\n%s", format, unit)
			}
			for _, program := range programs {
				r.check(t, filepath.Join(root, "usr/bin", program), program, "linux/"+arch, 0)
			}
		}
	}
}

// besidesLicenses are the files of a folder without the licences in dir, where each module that the programs are built from has one, and Go.
func (r *release) besidesLicenses(t *testing.T, root, dir string, programs []string, target string) (others []string) {
	t.Helper()
	of := make(map[string]bool)
	for _, name := range filesIn(t, root) {
		module, is := strings.CutPrefix(path.Dir(name), dir+"/")
		if !is {
			others = append(others, name)
		} else if strings.HasPrefix(path.Base(name), "LICENSE") && read(t, filepath.Join(root, name)) != "" {
			of[module] = true
		}
	}
	linked := []string{"go"}
	for _, program := range programs {
		for _, dep := range r.built(t, program, target).Deps {
			linked = append(linked, dep.Path)
		}
	}
	for _, module := range linked {
		if !of[module] {
			t.Errorf("%s: no licence of %s in %s", target, module, dir)
		}
	}
	return others
}

// user is the one that images run as.
const user = 65532

// images have a program each, in the place of which the pages tell, and run it as a user without rights.
func (r *release) images(t *testing.T) {
	for _, page := range []string{"INSTALL.md", "KUBERNETES.md"} {
		copied := "COPY --from=ghcr.io/wheellock/wheellock:v0.1.0 /ko-app/wheellock /usr/local/bin/"
		if !strings.Contains(read(t, "../../docs/"+page), copied) {
			t.Errorf("docs/%s does not say %s", page, copied)
		}
	}
	for _, program := range programs {
		ref := reference(t, r.registry+"/wheellock/"+program+":"+*version)
		tagged, err := remote.Get(ref)
		if err != nil {
			t.Fatal(err)
		}
		if latest, err := remote.Get(ref.Context().Tag("latest")); err != nil || latest.Digest != tagged.Digest {
			t.Errorf("%s:latest is not that version: %v", program, err)
		}
		for _, arch := range []string{"amd64", "arm64"} {
			image, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
			if err != nil {
				t.Fatal(err)
			}
			file, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			config := file.Config
			if place := "/ko-app/" + program; config.User != fmt.Sprint(user) || !slices.Equal(config.Entrypoint, []string{place}) {
				t.Errorf("%s for %s runs %q as %q", program, arch, config.Entrypoint, config.User)
			}
			if config.Labels["org.opencontainers.image.version"] != *version || config.Labels["org.opencontainers.image.revision"] != r.commit {
				t.Errorf("%s for %s has the labels %q", program, arch, config.Labels)
			}
			root := t.TempDir()
			layers := mutate.Extract(image)
			defer layers.Close()
			untar(t, layers, root)
			have := r.besidesLicenses(t, root, "var/run/ko/licenses", []string{program}, "linux/"+arch)
			if want := []string{"ko-app/" + program, "var/run/ko/LICENSE"}; !slices.Equal(have, want) {
				t.Errorf("%s for %s has %q, want %q", program, arch, have, want)
			}
			r.check(t, filepath.Join(root, "ko-app", program), program, "linux/"+arch, user)
		}
	}
}

// sboms name exactly the modules that the programs say they are built from.
func (r *release) sboms(t *testing.T) {
	for _, program := range programs {
		for _, target := range targets {
			name := program + "-" + strings.ReplaceAll(target, "/", "-")
			file, err := os.Open(filepath.Join(r.dist, name+".cdx.json"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			var bom cyclonedx.BOM
			if err := cyclonedx.NewBOMDecoder(file, cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
				t.Fatal(err)
			}
			info := r.built(t, program, target)
			want := []string{"std@" + info.GoVersion}
			for _, dep := range info.Deps {
				want = append(want, dep.Path+"@"+dep.Version)
			}
			var have []string
			for _, c := range *bom.Components {
				have = append(have, c.Name+"@"+c.Version)
			}
			slices.Sort(want)
			slices.Sort(have)
			if !slices.Equal(have, want) {
				t.Errorf("%s names %q, want %q", file.Name(), have, want)
			}
			if of := bom.Metadata.Component; of.Name != "github.com/wheellock/wheellock" || of.Version != *version {
				t.Errorf("%s is of %s %s", file.Name(), of.Name, of.Version)
			}
		}
	}
}

// built is what the program in GoReleaser's build folder says of itself.
func (r *release) built(t *testing.T, program, target string) *debug.BuildInfo {
	found, err := filepath.Glob(filepath.Join(r.dist, program+"_"+strings.ReplaceAll(target, "/", "_")+"_*", program+"*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s for %s: %q, %v", program, target, found, err)
	}
	info, err := buildinfo.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// checksums are of all files that a release has, and right.
func (r *release) checksums(t *testing.T) {
	var want []string
	for _, target := range targets {
		goos, arch, _ := strings.Cut(target, "/")
		endings := map[string][]string{"linux": {".tar.gz", ".deb", ".rpm"}, "darwin": {".tar.gz"}, "windows": {".zip"}}
		for _, ending := range endings[goos] {
			want = append(want, "wheellock-"+goos+"-"+arch+ending)
		}
		for _, program := range programs {
			want = append(want, program+"-"+goos+"-"+arch+".cdx.json")
		}
	}
	slices.Sort(want)
	var have []string
	for name, sum := range r.sums(t) {
		have = append(have, name)
		if is := sha256.Sum256([]byte(read(t, filepath.Join(r.dist, name)))); hex.EncodeToString(is[:]) != sum {
			t.Errorf("%s does not have the checksum %s", name, sum)
		}
	}
	slices.Sort(have)
	if !slices.Equal(have, want) {
		t.Errorf("checksums are of %q, want %q", have, want)
	}
}

func (r *release) sums(t *testing.T) map[string]string {
	sums := make(map[string]string)
	for line := range strings.Lines(read(t, filepath.Join(r.dist, "checksums.txt"))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[name] = sum
	}
	return sums
}

// cask names the archives of the release, with their checksums.
func (r *release) cask(t *testing.T) {
	text := read(t, filepath.Join(r.dist, "homebrew/Casks/wheellock.rb"))
	found := regexp.MustCompile(`url "(\S+)"\n\s+sha256 "(\S+)"`).FindAllStringSubmatch(text, -1)
	if len(found) != 4 {
		t.Fatalf("it has %d archives:\n%s", len(found), text)
	}
	sums := r.sums(t)
	for _, m := range found {
		url := strings.ReplaceAll(m[1], "#{version}", strings.TrimPrefix(*version, "v"))
		if name, is := strings.CutPrefix(url, "https://github.com/wheellock/wheellock/releases/download/"+*version+"/"); !is || m[2] != sums[name] {
			t.Errorf("%s with the checksum %s", url, m[2])
		}
	}
}

// elsewhere are blocks that internal/shape/modules runs, or nobody does.
var elsewhere = regexp.MustCompile(`^    (go (get|install)|brew|docker|COPY) `)

// page runs the commands of docs/INSTALL.md, with the files that were made in place of those that GitHub has.
func (r *release) page(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the page's commands are for amd64")
	}
	server := httptest.NewServer(http.StripPrefix("/wheellock/wheellock/releases/latest/download/", http.FileServer(http.Dir(r.dist))))
	defer server.Close()
	downloads, bin, place := t.TempDir(), t.TempDir(), t.TempDir()
	roots := map[string]string{"deb": newRoot(t, "deb"), "rpm": newRoot(t, "rpm")}
	for name, line := range map[string]string{"sudo": "exec", "dpkg": "exec /usr/bin/dpkg --root=" + roots["deb"], "rpm": "exec /usr/bin/rpm --dbpath=/var/lib/rpm --root=" + roots["rpm"]} {
		write(t, filepath.Join(bin, name), []byte("#!/bin/sh\n"+line+" \"$@\"\n"))
	}
	ran := 0
	for _, block := range regexp.MustCompile(`(?m)(^    .*\n)+`).FindAllString(read(t, "../../docs/INSTALL.md"), -1) {
		if elsewhere.MatchString(block) || strings.Contains(block, "rpm -i") && roots["rpm"] == "" {
			continue
		}
		ran++
		block = strings.NewReplacer("https://github.com", server.URL, "/usr/local/bin", place).Replace(block)
		cmd := exec.Command("bash", "-euo", "pipefail", "-c", block)
		cmd.Dir, cmd.Env = downloads, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		t.Logf("%s%s", block, run(t, asRoot(cmd)))
	}
	if ran < 4 {
		t.Errorf("%d blocks were run", ran)
	}
	for _, installed := range []string{filepath.Join(place, "wheellock"), filepath.Join(roots["deb"], "usr/bin/wheellock"), filepath.Join(roots["rpm"], "usr/bin/wheellock")} {
		if roots["rpm"] != "" || !strings.HasPrefix(installed, "usr") {
			r.check(t, installed, "wheellock", "linux/amd64", 0)
		}
	}
}

// check looks at a program: it is of the version, of this commit, needs no other file, and if this machine can run it, it does in an empty root.
func (r *release) check(t *testing.T, file, program, target string, uid uint32) {
	t.Helper()
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	goos, arch, _ := strings.Cut(target, "/")
	want := map[string]string{"GOOS": goos, "GOARCH": arch, "CGO_ENABLED": "0", "-trimpath": "true", "vcs.revision": r.commit, "vcs.modified": "false"}
	for key, value := range want {
		if settings[key] != value {
			t.Errorf("%s: %s is %q, want %q", file, key, settings[key], value)
		}
	}
	if info.Main.Version != *version || info.Path != "github.com/wheellock/wheellock/cmd/"+program {
		t.Errorf("%s is %s %s", file, info.Path, info.Main.Version)
	}
	if goos != "linux" {
		return
	}
	binary, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	libraries, _ := binary.ImportedLibraries()
	if len(libraries) > 0 || slices.ContainsFunc(binary.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Errorf("%s is not static: %q", file, libraries)
	}
	if arch != runtime.GOARCH {
		return
	}
	if said, want := r.alone(t, file, uid, "--version"), fmt.Sprintf("%s %s %s %s\n", program, *version, r.commit[:12], info.GoVersion); said != want {
		t.Errorf("%s says that it is %q, want %q", file, said, want)
	}
	if program == "loadgen" { // with an engine, and a Redis in memory
		if said := r.alone(t, file, uid, "--duration", "100ms", "--warmup", "10ms"); !strings.Contains(said, "no violation, no key left behind, nobody stranded") {
			t.Errorf("%s says\n%s", file, said)
		}
	}
}

// alone runs a program in a root that has nothing else.
func (r *release) alone(t *testing.T, file string, uid uint32, args ...string) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "program"), []byte(read(t, file)))
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := asRoot(exec.Command("/program", args...))
	cmd.SysProcAttr.Chroot = root
	cmd.Dir, cmd.Env = "/", []string{}
	if uid != 0 && os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: uid}
	}
	return run(t, cmd)
}

// newRoot is a folder into which packages of a format can be installed. It is empty if this machine has no program that does it.
func newRoot(t *testing.T, format string) string {
	t.Helper()
	program := map[string]string{"deb": "dpkg", "rpm": "rpm"}[format]
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Logf("%s is MISSING, so nobody knows whether the %s can be installed", program, format)
		return ""
	}
	root := t.TempDir()
	if format == "deb" {
		for _, dir := range []string{"info", "updates", "triggers"} {
			if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		write(t, filepath.Join(root, "var/lib/dpkg/status"), nil)
	}
	return root
}

// asRoot lets a command take itself for root's.
func asRoot(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = new(syscall.SysProcAttr)
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return cmd
}

func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, said)
	}
	return string(said)
}

func reference(t *testing.T, text string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, 0o755)); err != nil {
		t.Fatal(err)
	}
}

// filesIn are the files of a folder, by their names in it.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func untar(t *testing.T, from io.Reader, dir string) {
	t.Helper()
	for files := tar.NewReader(from); ; {
		header, err := files.Next()
		if err == io.EOF {
			return
		}
		var content bytes.Buffer
		if err == nil && header.Typeflag == tar.TypeReg {
			_, err = content.ReadFrom(files)
			write(t, filepath.Join(dir, header.Name), content.Bytes())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unzip(t *testing.T, file, dir string) {
	t.Helper()
	archive, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := os.CopyFS(dir, archive); err != nil {
		t.Fatal(err)
	}
}
