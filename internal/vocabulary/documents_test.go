package vocabulary

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each option of a call has a request in the explorer, or CONTRIBUTING.md says that it has none.
func TestOptionsAreExplored(t *testing.T) {
	t.Parallel()
	world := read(t, "internal/trial/explore/world.go")
	_, exceptions, _ := strings.Cut(read(t, "CONTRIBUTING.md"), "Options without a request in the explorer:")
	all := regexp.MustCompile(`(?m)^func (With\w+)\(`).FindAllStringSubmatch(read(t, "engine/lockoption.go"), -1)
	if len(all) < 4 {
		t.Fatalf("lockoption.go has %d options", len(all))
	}
	for _, m := range all {
		if !strings.Contains(world, m[1]) && !strings.Contains(exceptions, "`"+m[1]+"`") {
			t.Errorf("the explorer has no request with %s, and CONTRIBUTING.md does not say why", m[1])
		}
	}
}

// TESTING.md goes from promises to invariants to tests. Every promise of docs/GUARANTEES.md is there, and each has a test; every invariant
// is there, serves a promise, and is named at one of its tests; every fault has a test; and every test that is named exists.
func TestPromisesHaveTests(t *testing.T) {
	t.Parallel()
	document := read(t, "TESTING.md")
	in := testSources{}
	all := testReference.FindAllStringSubmatch(document, -1)
	if len(all) < 150 {
		t.Fatalf("TESTING.md names %d tests", len(all))
	}
	for _, m := range all {
		in.require(t, m)
	}

	tested := make(map[string]bool)
	for _, row := range rows(t, document, "Invariants") {
		name := row[0]
		tests := testReference.FindAllStringSubmatch(row[1], -1)
		tested[name] = len(tests) > 0
		if !strings.Contains(read(t, "dispatcher/gate/INVARIANTS.md"), "\n### "+name+"\n") {
			t.Errorf("INVARIANTS.md has no invariant %s", name)
		}
		if !slices.ContainsFunc(tests, func(m []string) bool { return in.names(t, m, name) }) {
			t.Errorf("no test of %s has a comment \"invariant: %s\"", name, name)
		}
	}

	var promised []string
	served := make(map[string]bool)
	for _, row := range rows(t, document, "Promises") {
		promise := row[0]
		promised = append(promised, plain(promise))
		if !strings.Contains(plain(read(t, row[1])), plain(promise)) {
			t.Errorf("%s does not promise %q", row[1], promise)
		}
		hasTest := testReference.MatchString(row[3])
		for name := range strings.SplitSeq(row[2], ", ") {
			if name != "" && !tested[name] {
				t.Errorf("%q: no test of an invariant %q", promise, name)
			}
			served[name] = true
			hasTest = hasTest || tested[name]
		}
		if !hasTest {
			t.Errorf("no test holds the promise %q", promise)
		}
	}
	for _, row := range rows(t, document, "Faults") {
		if !testReference.MatchString(row[1] + row[2]) {
			t.Errorf("no test has the fault %q", row[0])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^### (.+)$`).FindAllStringSubmatch(read(t, "dispatcher/gate/INVARIANTS.md"), -1) {
		if !tested[m[1]] || !served[m[1]] {
			t.Errorf("TESTING.md: %s has tests: %t; serves a promise: %t", m[1], tested[m[1]], served[m[1]])
		}
	}
	_, promises, _ := strings.Cut(read(t, "docs/GUARANTEES.md"), "\n## What is promised\n")
	promises, _, _ = strings.Cut(promises, "\n## ")
	for _, promise := range strings.Split(promises, "\n- ")[1:] {
		if !slices.ContainsFunc(promised, func(p string) bool { return strings.HasPrefix(plain(promise), p) }) {
			t.Errorf("TESTING.md has no row for the promise %q", promise)
		}
	}
}

// testReference is a test as TESTING.md names it: its package, its name, and after a slash one of its subtests, such as a world or a phase.
var testReference = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz)[A-Za-z0-9]+)(?:/([^`]+))?`")

// testSources are the sources of packages, by directory.
type testSources map[string]string

func (ts testSources) of(t *testing.T, where string) string {
	t.Helper()
	if ts[where] == "" {
		paths, err := filepath.Glob(filepath.Join(root, where, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			ts[where] += read(t, path[len(root):])
		}
	}
	return ts[where]
}

// require reports a test that does not exist. A subtest exists if its name is a string in the package.
func (ts testSources) require(t *testing.T, reference []string) {
	t.Helper()
	source, name, sub := ts.of(t, reference[1]), reference[2], reference[3]
	if !strings.Contains(source, "\nfunc "+name+"(") || sub != "" && !strings.Contains(source, `"`+sub+`"`) {
		t.Errorf("TESTING.md names %s, which does not exist", reference[0])
	}
}

// names reports whether a test names an invariant, in the comment above it or inside.
func (ts testSources) names(t *testing.T, reference []string, invariant string) bool {
	t.Helper()
	before, after, found := strings.Cut(ts.of(t, reference[1]), "\nfunc "+reference[2]+"(")
	comment := before[strings.LastIndex(before, "\n\n")+1:]
	body, _, _ := strings.Cut(after, "\n}\n")
	named := regexp.MustCompile(`\binvariants?: ([a-z-]+, )*` + invariant + `\b`)
	return found && (named.MatchString(comment) || named.MatchString(body))
}

// rows returns the cells of the rows of the first table below a heading, without its head.
func rows(t *testing.T, document, heading string) (table [][]string) {
	t.Helper()
	_, section, _ := strings.Cut(document, "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.SplitSeq(section, "\n") {
		if inside, isRow := strings.CutPrefix(line, "| "); isRow {
			cells := strings.Split(strings.ReplaceAll(strings.TrimSuffix(inside, "|"), `\|`, "\x00"), "|")
			for i := range cells {
				cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "\x00", "|")
			}
			table = append(table, cells)
		}
	}
	if len(table) < 2 {
		t.Fatalf("no table below %q", heading)
	}
	return table[1:]
}

// plain is a text of a document without line breaks and emphasis.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "*", "")), " ")
}

// A document names commands of make and files that exist. A file is named by its path from the top, or from the document.
func TestDocumentsNameWhatExists(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile("(?m)(?:^    |`)make ([a-z-]+)")
	file := regexp.MustCompile("(?m)(?:^|[\\s(`])((?:[a-z-]+/)+[A-Za-z0-9_]+\\.(?:go|lua|qnt|md|txt))\\b")
	makefile := read(t, "Makefile")
	for _, document := range files(t, ".md") {
		text := read(t, document)
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: there is no make %s", document, m[1])
			}
		}
		for _, m := range file.FindAllStringSubmatch(text, -1) {
			if !exists(m[1]) && !exists(filepath.Join(filepath.Dir(document), m[1])) {
				t.Errorf("%s: there is no %s", document, m[1])
			}
		}
	}
}

// docs/INSTALL.md says which modules in contrib are content with the Go that the engine needs.
func TestModulesThatNeedNoNewerGo(t *testing.T) {
	t.Parallel()
	needs := regexp.MustCompile(`(?m)^go (\d+\.\d+)`)
	oldest := needs.FindStringSubmatch(read(t, "go.mod"))[1]
	var are []string
	for _, file := range files(t, "go.mod") {
		if name, is := strings.CutPrefix(filepath.Dir(file), "contrib/"); is && needs.FindStringSubmatch(read(t, file))[1] == oldest {
			are = append(are, "`"+name+"`")
		}
	}
	slices.Sort(are)
	if want := "these need " + oldest + " too: " + strings.Join(are, ", ") + ". "; !strings.Contains(plain(read(t, "docs/INSTALL.md")), want) {
		t.Errorf("docs/INSTALL.md does not say %q", want)
	}
}

// A link to a heading, of the same document or of another, leads to one.
func TestLinksLeadToHeadings(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^():#]*)#([^()]+)\)`)
	links := 0
	for _, path := range files(t, ".md") {
		for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
			links++
			in := path
			if m[1] != "" {
				in = filepath.Join(filepath.Dir(path), m[1])
			}
			if !slices.Contains(anchors(read(t, in)), m[2]) {
				t.Errorf("%s links to %s#%s, and there is no such heading", path, m[1], m[2])
			}
		}
	}
	if links < 20 {
		t.Errorf("found %d links", links)
	}
}

// anchors are the headings of a document, as links name them.
func anchors(document string) (all []string) {
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(document, -1) {
		all = append(all, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

func exists(path string) bool {
	_, err := os.Stat(filepath.Join(root, path))
	return err == nil
}

// A function that the tour of the code names is in the file that it names.
func TestTheTourLeadsToFunctions(t *testing.T) {
	t.Parallel()
	_, tour, _ := strings.Cut(read(t, "ARCHITECTURE.md"), "\n## A tour of the code\n")
	tour, _, _ = strings.Cut(tour, "\n## ")
	lines := regexp.MustCompile("(?m)^[0-9]+\\. (`.+`) \\(([a-z/]+\\.go)").FindAllStringSubmatch(tour, -1)
	if len(lines) == 0 {
		t.Fatal("the tour names no function")
	}
	for _, line := range lines {
		for _, m := range regexp.MustCompile("`(?:([A-Za-z]+)\\.)?([A-Za-z]+)`").FindAllStringSubmatch(line[1], -1) {
			found := slices.ContainsFunc(parse(t, line[2]).Decls, func(d ast.Decl) bool {
				f, is := d.(*ast.FuncDecl)
				return is && f.Name.Name == m[2] && receiverType(f) == m[1]
			})
			if !found {
				t.Errorf("%s has no %s", line[2], strings.Trim(m[0], "`"))
			}
		}
	}
}

// receiverType is the name of a method's type; empty: d is no method.
func receiverType(d *ast.FuncDecl) (name string) {
	if d.Recv == nil {
		return ""
	}
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, is := n.(*ast.Ident); is && name == "" {
			name = id.Name
		}
		return true
	})
	return name
}
