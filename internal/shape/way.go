package shape

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// block is a piece of a file that always runs as a whole, with how often it ran.
type block struct {
	fromLine, fromColumn, toLine, toColumn, statements, times int
}

// profile is the blocks of each file, as go tool covdata prints them: "package/file:from,to statements times".
type profile map[string][]block

// readProfile reads a profile of files of this module.
func (c *code) readProfile(from io.Reader) (profile, error) {
	p := make(profile)
	lines := bufio.NewScanner(from)
	lines.Scan() // the mode
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		var b block
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.fromLine, &b.fromColumn, &b.toLine, &b.toColumn, &b.statements, &b.times); err != nil {
			return nil, fmt.Errorf("%s: %w", lines.Text(), err)
		}
		file := filepath.Join(c.root, strings.TrimPrefix(name, module+"/"))
		p[file] = append(p[file], b)
	}
	return p, lines.Err()
}

// ran reports whether what stands at a place ran at least so often.
func (p profile) ran(at token.Position, times int) bool {
	return slices.ContainsFunc(p[at.Filename], func(b block) bool {
		after := at.Line > b.fromLine || at.Line == b.fromLine && at.Column >= b.fromColumn
		before := at.Line < b.toLine || at.Line == b.toLine && at.Column < b.toColumn
		return after && before && b.times >= times
	})
}

// way follows the calls that the text of the product makes, as far as they ran in every round.
type way struct {
	code   *code
	ran    profile
	rounds int
	bodies map[*types.Func]body
	seen   map[*types.Func]bool
	files  map[string]bool // that lead on to another file
}

// body is a function as it is written.
type body struct {
	of   *ast.FuncDecl
	info *types.Info
}

// files are those that a reader has to open who follows one Lock and Unlock from the roots ("package.Type.Method"): the files that
// lead on, because something in them that runs in every round calls a function of another file. What only ends a way, such as a
// list, a clock, or a question that is answered with no at once, is understood by its name. A call of an interface of the
// product leads to the implementations that ran; one of a foreign interface, such as net.Conn, or of a function that is a value,
// leads nowhere.
func (c *code) files(ran profile, rounds int, roots ...string) ([]string, error) {
	w := way{code: c, ran: ran, rounds: rounds, bodies: make(map[*types.Func]body), seen: make(map[*types.Func]bool), files: make(map[string]bool)}
	named := make(map[string]*types.Func)
	for p, d := range c.declared {
		of := p.TypesInfo.Defs[d.Name].(*types.Func)
		w.bodies[of] = body{d, p.TypesInfo}
		if d.Recv != nil {
			named[p.Name+"."+receiver(d)+"."+d.Name.Name] = of
		}
	}
	for _, root := range roots {
		of := named[root]
		if of == nil {
			return nil, fmt.Errorf("there is no %s", root)
		}
		w.follow(of)
	}
	var all []string
	for f := range w.files {
		all = append(all, f)
	}
	slices.Sort(all)
	return all, nil
}

// follow goes on from a function.
func (w *way) follow(of *types.Func) {
	b, ours := w.bodies[of]
	if !ours || w.seen[of] || b.of.Body == nil {
		return
	}
	w.seen[of] = true
	file := w.code.fset.Position(b.of.Pos()).Filename
	ast.Inspect(b.of.Body, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is || !w.ran.ran(w.code.fset.Position(call.Pos()), w.rounds) {
			return true
		}
		for _, to := range w.callees(b.info, call) {
			if w.code.fset.Position(to.Pos()).Filename != file {
				w.files[file] = true
			}
			w.follow(to)
		}
		return true
	})
}

// callees are the functions of the product that a call leads to.
func (w *way) callees(info *types.Info, call *ast.CallExpr) (some []*types.Func) {
	var name *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		name = f
	case *ast.SelectorExpr:
		name = f.Sel
	default:
		return nil
	}
	of, is := info.Uses[name].(*types.Func)
	if !is {
		return nil
	}
	of = of.Origin()
	if _, ours := w.bodies[of]; ours {
		return []*types.Func{of}
	}
	recv := of.Signature().Recv()
	if recv == nil || of.Pkg() == nil || !strings.HasPrefix(of.Pkg().Path(), module+"/") || !types.IsInterface(recv.Type()) {
		return nil
	}
	for other, b := range w.bodies {
		if r := other.Signature().Recv(); other.Name() == of.Name() && r != nil && types.Implements(r.Type(), recv.Type().Underlying().(*types.Interface)) &&
			len(b.of.Body.List) > 0 && w.ran.ran(w.code.fset.Position(b.of.Body.List[0].Pos()), w.rounds) {
			some = append(some, other)
		}
	}
	return some
}
