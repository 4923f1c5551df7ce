package figures

import (
	"fmt"
	"strings"
)

// Page is Markdown in the making.
type Page struct{ strings.Builder }

// How the columns of a table are aligned.
const (
	Left  = "---|"
	Right = "---:|"
)

// Table begins one whose columns are aligned so; its first has the names of the rows.
func (p *Page) Table(title, align string, columns ...string) {
	fmt.Fprintf(p, "\n%s\n\n| | %s |\n|---|%s\n", title, strings.Join(columns, " | "), strings.Repeat(align, len(columns)))
}

// Row adds one.
func (p *Page) Row(name string, cells ...any) {
	fmt.Fprintf(p, "| %s |", name)
	for _, c := range cells {
		fmt.Fprintf(p, " %v |", c)
	}
	p.WriteString("\n")
}
