package shape

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// biggest is the named type of the product for which of is the most.
func (c *code) biggest(of func(*types.Named) int) (most int, name string) {
	for p := range c.product {
		for _, id := range p.Types.Scope().Names() {
			if t, is := p.Types.Scope().Lookup(id).(*types.TypeName); is && !t.IsAlias() {
				if n := of(t.Type().(*types.Named)); n > most {
					most, name = n, p.Name+"."+id
				}
			}
		}
	}
	return most, name
}

// callable is how many methods can be called on a type, promoted ones with them.
func callable(t *types.Named) int { return types.NewMethodSet(types.NewPointer(t)).Len() }

// embedding is how deep structs of this module are embedded in a type.
func embedding(t *types.Named) (depth int) {
	fields, is := t.Underlying().(*types.Struct)
	for i := 0; is && i < fields.NumFields(); i++ {
		f := fields.Field(i).Type()
		if p, is := f.(*types.Pointer); is {
			f = p.Elem()
		}
		if of, is := f.(*types.Named); fields.Field(i).Embedded() && is && of.Obj().Pkg() != nil && strings.HasPrefix(of.Obj().Pkg().Path(), module) && !types.IsInterface(of) {
			depth = max(depth, 1+embedding(of))
		}
	}
	return depth
}

// tables are the places that know something of each operation: variables with a key of type gate.Op, and switches over one.
func (c *code) tables() (places []string) {
	for p := range c.product {
		isOp := func(e ast.Expr) bool {
			named, is := p.TypesInfo.Types[e].Type.(*types.Named) // of a field's name there is none
			return is && named.Obj().Name() == "Op" && named.Obj().Pkg().Name() == "gate"
		}
		for _, f := range p.Syntax {
			ast.Inspect(f, func(n ast.Node) bool {
				table := false
				switch n := n.(type) {
				case *ast.SwitchStmt:
					table = n.Tag != nil && isOp(n.Tag)
				case *ast.CompositeLit:
					if len(n.Elts) > 0 {
						pair, is := n.Elts[0].(*ast.KeyValueExpr)
						table = is && isOp(pair.Key)
					}
				}
				if table {
					places = append(places, filepath.Base(c.fset.Position(n.Pos()).String()))
				}
				return true
			})
		}
	}
	return places
}

// nilReceivers is how many methods of a package compare their receiver with nil.
func (c *code) nilReceivers(p *packages.Package) (n int) {
	for in, d := range c.declared {
		if in != p || d.Recv == nil || len(d.Recv.List[0].Names) == 0 || d.Body == nil {
			continue
		}
		receiver, found := p.TypesInfo.Defs[d.Recv.List[0].Names[0]], false
		ast.Inspect(d.Body, func(n ast.Node) bool {
			if compared, is := n.(*ast.BinaryExpr); is && (compared.Op == token.EQL || compared.Op == token.NEQ) {
				x, isName := compared.X.(*ast.Ident)
				found = found || isName && p.TypesInfo.Uses[x] == receiver && p.TypesInfo.Types[compared.Y].IsNil()
			}
			return true
		})
		if found {
			n++
		}
	}
	return n
}
