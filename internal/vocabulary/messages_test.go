package vocabulary

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Messages are part of the API: people search for them at night. docs/OPERATIONS.md explains every error and every log record of the
// engine, and every exported error of contrib, and explains none that is not in the code.
func TestEveryMessageIsExplained(t *testing.T) {
	t.Parallel()
	document := read(t, "docs/OPERATIONS.md")
	explained := make(map[string][]string) // the rows, by message
	for _, heading := range []string{"Every error", "Every log record"} {
		for _, row := range rows(t, document, heading) {
			explained[withoutPrefix(strings.Trim(row[0], "`"))] = row
		}
	}
	found := messages{names: make(map[string]string), texts: make(map[string]bool)}
	for _, file := range files(t, ".go") {
		where := path.Dir(file)
		if strings.HasSuffix(file, "_test.go") || !slices.Contains(product, where) && !strings.HasPrefix(where, "contrib/") {
			continue
		}
		found.read(parse(t, file), where)
	}
	for message, name := range found.names {
		row, is := explained[message]
		switch {
		case unseen[message] != "":
			delete(found.names, message)
		case !is:
			t.Errorf("docs/OPERATIONS.md does not explain %q", message)
		case name != "" && !strings.Contains(row[1], name+"`"):
			t.Errorf("docs/OPERATIONS.md: %q is the text of %s", message, name)
		}
	}
	for message := range explained {
		if !found.texts[message] {
			t.Errorf("docs/OPERATIONS.md explains %q, which no code says", message)
		}
	}
	for message := range unseen {
		if !found.texts[message] || explained[message] != nil {
			t.Errorf("the exception for %q is not needed", message)
		}
	}
	if len(found.names) < 40 {
		t.Errorf("found %d messages", len(found.names))
	}
}

// unseen are texts of errors that no user meets alone, with the reason.
var unseen = map[string]string{
	"for now":                "only errors.Is sees it",
	"not answered in time":   "the cause of a context, which the engine looks for",
	"... ...: ...":           "an error of this table, with the call and the name",
	"...: ...":               "a HeldError, with the name",
	"... is ...":             "a HeldError, with the name",
	"election ...: ...":      "an error of this table, with the name",
	"callback pool: ...":     "an error of the ants library about the options, which are checked before",
	"callback panicked: ...": "the panic is the user's, and the text is its value",
}

// messages are those of the code.
type messages struct {
	names map[string]string // of those to be explained: the exported variable of the error, or nothing
	texts map[string]bool   // all strings
}

// read takes the messages of a file: of contrib only the exported errors, and of those packages that users do not import, all without
// their names.
func (m *messages) read(f *ast.File, where string) {
	all, public := !strings.HasPrefix(where, "contrib/"), !strings.HasPrefix(where, "dispatcher")
	for _, d := range f.Decls {
		if g, is := d.(*ast.GenDecl); is && g.Tok == token.VAR {
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				if name := v.Names[0].Name; public && ast.IsExported(name) && strings.HasPrefix(name, "Err") && len(v.Values) == 1 {
					if text := firstString(v.Values[0]); text != "" {
						m.names[text] = name
					}
				}
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			text := textOf(n)
			m.texts[withoutPrefix(text)] = true
			if strings.HasPrefix(text, "wheellock: ") || all && strings.HasPrefix(text, "futures: ") {
				m.add(withoutPrefix(text))
			}
		case *ast.CallExpr:
			if s, is := n.Fun.(*ast.SelectorExpr); is && all && s.Sel.Name == "New" && len(n.Args) == 1 {
				if x, is := s.X.(*ast.Ident); is && x.Name == "errors" {
					if lit, is := n.Args[0].(*ast.BasicLit); is {
						m.add(withoutPrefix(textOf(lit)))
					}
				}
			}
		}
		return true
	})
}

func (m *messages) add(text string) {
	if _, known := m.names[text]; !known && text != "" {
		m.names[text] = ""
	}
}

// firstString is the message that an expression begins with.
func firstString(e ast.Expr) (text string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if lit, is := n.(*ast.BasicLit); is && text == "" {
			text = withoutPrefix(textOf(lit))
		}
		return text == ""
	})
	return text
}

// textOf is the value of a string.
func textOf(lit *ast.BasicLit) string {
	if lit.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return text
}

var (
	prefix = regexp.MustCompile(`^(wheellock|futures|flight|idempotency|wheelcron): `)
	verb   = regexp.MustCompile(`%[.0-9]*[a-z]`)
)

// withoutPrefix is a message without the package it comes from, and with dots for what differs.
func withoutPrefix(text string) string {
	return strings.TrimSuffix(strings.TrimSpace(verb.ReplaceAllString(prefix.ReplaceAllString(text, ""), "...")), ":")
}
