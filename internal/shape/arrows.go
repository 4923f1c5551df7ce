package shape

import (
	"cmp"
	"go/ast"
	"slices"

	"golang.org/x/tools/go/packages"
)

// use is one file using what another one declares.
type use struct{ from, to string }

// uses are those between the files of a package.
func (c *code) uses(p *packages.Package) map[use]bool {
	all := make(map[use]bool)
	for _, f := range p.Syntax {
		from := c.fset.Position(f.Pos()).Filename
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if of := p.TypesInfo.Uses[id]; of != nil && of.Pkg() == p.Types {
				if to := c.fset.Position(of.Pos()).Filename; to != from && to != "" {
					all[use{from, to}] = true
				}
			}
			return true
		})
	}
	return all
}

// backward counts the uses between files that run against the order in which the fewest do, as far as is easily found: the file
// that uses the most and is used the least comes first (Eades, Lin, Smyth, 1993).
func backward(uses map[use]bool) (back int) {
	left := make(map[string]bool)
	for u := range uses {
		left[u.from], left[u.to] = true, true
	}
	place := make(map[string]int)
	first, last := 0, len(left)
	for len(left) > 0 {
		out, in := make(map[string]int), make(map[string]int)
		for u := range uses {
			if left[u.from] && left[u.to] {
				out[u.from]++
				in[u.to]++
			}
		}
		files := make([]string, 0, len(left))
		for f := range left {
			files = append(files, f)
		}
		slices.SortFunc(files, func(a, b string) int { return cmp.Or(cmp.Compare(out[b]-in[b], out[a]-in[a]), cmp.Compare(a, b)) })
		taken := files[0]
		if sink := slices.IndexFunc(files, func(f string) bool { return out[f] == 0 }); sink >= 0 {
			taken = files[sink]
			last--
			place[taken] = last
		} else {
			if source := slices.IndexFunc(files, func(f string) bool { return in[f] == 0 }); source >= 0 {
				taken = files[source]
			}
			place[taken] = first
			first++
		}
		delete(left, taken)
	}
	for u := range uses {
		if place[u.from] > place[u.to] {
			back++
		}
	}
	return back
}
