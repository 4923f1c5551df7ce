package vocabulary

import (
	"go/ast"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// todo are packages of the product whose functions do not keep to the verbs yet.
var todo = []string{"scripts", "dispatcher/wire"}

// plainVerbs are those that mean in this project what they mean in every program. The others are in ARCHITECTURE.md, with their one
// meaning.
const plainVerbs = `abandon add advance append apply arm assign await bind block break change check choose clear complete connect count delete detach disconnect
	distribute do drain drop encode fill flush follow force format forward go grow guard handle init install invalidate keep learn link load lock log make
	mark measure move open park pass pause place pop prepare push query read remove repeat request requeue reroute reset resubscribe retry reuse schedule set share show swap
	track unbind unlink unlock unsubscribe update visit wait want watch withdraw work write yield`

// others are names that are no verbs, with the reason.
var others = map[string]string{
	"At":      "stall.At marks a point in the code, and reads as one",
	"Risk":    "an interface of gate: what happened to a hold",
	"Wanted":  "an interface of gate: what happened to a hold",
	"Message": "an event of gate.Machine",
	"Swap":    "the interface of container/heap",
	"onEnd":   "on, for a function that is to be called then, as everywhere",
}

// A function that returns nothing acts, so its name begins with a verb: one of ARCHITECTURE.md's glossary, or a plain one. A participle
// names what has happened, and the function handles that. A function that returns something may be named for the result instead.
func TestFunctionsBeginWithVerbs(t *testing.T) {
	t.Parallel()
	_, glossary, _ := strings.Cut(read(t, "ARCHITECTURE.md"), "\n### Verbs\n")
	verbs := strings.Fields(plainVerbs)
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z, ]+) \|`).FindAllStringSubmatch(glossary, -1)[1:] {
		for verb := range strings.SplitSeq(m[1], ", ") {
			if slices.Contains(verbs, verb) {
				t.Errorf("ARCHITECTURE.md explains %q, which is also a plain verb", verb)
			}
			verbs = append(verbs, verb)
		}
	}
	used := make(map[string]bool)
	for path, d := range functions(t) {
		name := d.Name.Name
		verb := parts(name)[0]
		used[verb], used[name] = true, true
		if d.Type.Results == nil && name != "main" && others[name] == "" && !slices.Contains(verbs, verb) && !strings.HasSuffix(verb, "ed") && verb != "broke" && verb != "sent" {
			t.Errorf("%s: %s does something, and does not begin with a verb of ARCHITECTURE.md or of plainVerbs", path, name)
		}
	}
	for _, verb := range verbs {
		if !used[verb] {
			t.Errorf("no function begins with %q", verb)
		}
	}
	for name := range others {
		if !used[name] {
			t.Errorf("no function is called %s", name)
		}
	}
}

// A receiver is the first letter of its type; a collection may take a second letter, to tell it from its elements.
func TestReceiversBeginAsTheirTypes(t *testing.T) {
	t.Parallel()
	for path, d := range functions(t) {
		if d.Recv == nil || len(d.Recv.List[0].Names) == 0 {
			continue
		}
		first := strings.ToLower(receiverType(d)[:1])
		name := d.Recv.List[0].Names[0].Name
		if name != "_" && name != first && !(len(name) == 2 && name == first+"s") {
			t.Errorf("%s: the receiver of %s is %s, want %s", path, d.Name.Name, name, first)
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

// functions yields the functions of the product, each with its file: without tests and todo.
func functions(t *testing.T) iter.Seq2[string, *ast.FuncDecl] {
	return func(yield func(string, *ast.FuncDecl) bool) {
		for _, path := range files(t, ".go") {
			if !follows(path) {
				continue
			}
			for _, d := range parse(t, path).Decls {
				if d, is := d.(*ast.FuncDecl); is && !yield(path, d) {
					return
				}
			}
		}
	}
}

// follows reports whether the names of a file have to keep to the verbs.
func follows(path string) bool {
	where := filepath.ToSlash(filepath.Dir(path))
	return slices.Contains(product, where) && !slices.Contains(todo, where) && !strings.HasSuffix(path, "_test.go")
}
