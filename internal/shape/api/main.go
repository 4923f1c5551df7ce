// Command api compares what the public packages export with api.txt, one line for each name, field and method, and fails if
// they differ. With -accept it writes api.txt instead. It runs in the folder of internal/shape (make api).
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/types"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/types/typeutil"
)

const stored = "api/api.txt"

// public are the packages whose names users may rely on.
var public = []string{"./engine", "./engine/elect", "./engine/enginetest", "./futures"}

func main() {
	accept := flag.Bool("accept", false, "write "+stored+" instead")
	flag.Parse()
	if err := run(*accept); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(accept bool) error {
	now, err := exported()
	if err != nil {
		return err
	}
	if accept {
		return os.WriteFile(stored, []byte(strings.Join(now, "\n")+"\n"), 0o666)
	}
	data, err := os.ReadFile(stored)
	if err != nil {
		return err
	}
	before := strings.Split(strings.TrimSpace(string(data)), "\n")
	gone, came := without(before, now), without(now, before)
	switch {
	case len(gone) > 0:
		return fmt.Errorf("%s%sthe public API: what has a - is gone or has changed, and breaks programs (CONTRIBUTING.md, What will be refused); "+
			"if it must be, say so in CHANGELOG.md under Changed or Removed, then: make api ACCEPT=1", marked("- ", gone), marked("+ ", came))
	case len(came) > 0:
		return fmt.Errorf("%sthe public API: this is new; say so in CHANGELOG.md under Added, then: make api ACCEPT=1", marked("+ ", came))
	}
	return nil
}

// exported describes what each public package exports, in a fixed order.
func exported() (lines []string, err error) {
	found, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes, Dir: "../.."}, public...)
	if err != nil {
		return nil, err
	}
	for _, p := range found {
		for _, e := range p.Errors {
			err = errors.Join(err, e)
		}
		for _, name := range p.Types.Scope().Names() {
			if o := p.Types.Scope().Lookup(name); o.Exported() {
				lines = append(lines, object(p.Name, o)...)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(lines)
	return lines, nil
}

// object describes an exported object; a type with its exported fields and methods, promoted ones too.
func object(pkg string, o types.Object) []string {
	named := pkg + "." + o.Name()
	switch o := o.(type) {
	case *types.Const:
		return []string{fmt.Sprintf("const %s %s = %s", named, short(o.Type()), o.Val().ExactString())}
	case *types.Var:
		return []string{fmt.Sprintf("var %s %s", named, short(o.Type()))}
	case *types.Func:
		return []string{"func " + named + signature(o)}
	}
	declared := "type " + named
	if t, ok := o.Type().(*types.Named); ok && t.TypeParams() != nil {
		declared = "type " + short(t)
		for p := range t.TypeParams().TypeParams() {
			declared += ", " + p.String() + " " + short(p.Constraint())
		}
	}
	var lines []string
	switch t := o.Type().Underlying().(type) {
	case *types.Struct:
		lines = append(lines, fmt.Sprintf("%s struct, comparable: %t", declared, types.Comparable(t)))
		for f := range t.Fields() {
			if f.Exported() {
				lines = append(lines, fmt.Sprintf("field %s.%s %s", named, f.Name(), short(f.Type())))
			}
		}
	case *types.Interface:
		sealed := ""
		for m := range t.Methods() {
			if !m.Exported() {
				sealed = ", which only its package implements"
			}
		}
		lines = append(lines, declared+" interface"+sealed)
	default:
		lines = append(lines, declared+" "+short(t))
	}
	for _, m := range typeutil.IntuitiveMethodSet(o.Type(), nil) {
		if m.Obj().Exported() {
			lines = append(lines, fmt.Sprintf("method (%s) %s%s", short(m.Recv()), m.Obj().Name(), signature(m.Obj())))
		}
	}
	return lines
}

// signature is a function's type without its "func".
func signature(o types.Object) string { return strings.TrimPrefix(short(o.Type()), "func") }

// short writes a type with the names of its packages, without their paths.
func short(t types.Type) string { return types.TypeString(t, (*types.Package).Name) }

// without returns the lines that others lack.
func without(lines, others []string) (missing []string) {
	for _, line := range lines {
		if _, found := slices.BinarySearch(others, line); !found {
			missing = append(missing, line)
		}
	}
	return missing
}

// marked writes lines with a mark before each.
func marked(mark string, lines []string) (all string) {
	for _, line := range lines {
		all += mark + line + "\n"
	}
	return all
}
