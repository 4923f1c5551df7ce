package shape

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"text/tabwriter"
)

var measure = flag.Bool("measure", false, "print the figures (make shape)")

// TestShape prints every figure with its target.
func TestShape(t *testing.T) {
	if !*measure {
		t.Skip("with -measure only: it prints figures, and asserts nothing")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	code, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	figures, err := code.figures()
	if err != nil {
		t.Fatal(err)
	}
	way := wayOfALock(t, code)
	w := tabwriter.NewWriter(t.Output(), 0, 0, 2, ' ', 0)
	for _, f := range append(figures, figure{"files that one Lock and Unlock lead through", len(way), 20, fmt.Sprint(way)}) {
		mark := "met"
		if f.is > f.most {
			mark = "NOT MET"
		}
		fmt.Fprintf(w, "%s\t%d\tat most %d\t%s\t%s\n", f.what, f.is, f.most, mark, f.where)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}
