// Command shape measures how the code is built, and prints each figure beside its target: how long functions are, how much is
// explained, how big types are, how files of a package depend on each other, and through how many files one Lock goes.
//
// It needs redis-server, for the way of a Lock (way.go). code.go counts lines, arrows.go what files use of each other.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
)

// product are the folders of what users get, lower ones first: a package may import from those before it only.
var product = []string{"internal/stall", "scripts", "futures", "wheel", "internal/gate", "dispatcher", "engine"}

// harness are those of what tests and measures it.
var harness = []string{"cmd/loadgen", "internal/redistest", "internal/chaos", "internal/interop", "bench"}

// figure is one row of the table.
type figure struct {
	what, is, target string
	ok               bool
}

func main() {
	root, err := filepath.Abs("../..")
	if err == nil {
		err = run(root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string) error {
	code, err := load(root)
	if err != nil {
		return err
	}
	figures := code.figures()
	way, err := wayOfALock(root)
	if err != nil {
		return err
	}
	figures = append(figures, figure{"files through which one Lock and Unlock go", fmt.Sprint(way), "at most 20", way <= 20})
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, f := range figures {
		mark := "met"
		if !f.ok {
			mark = "NOT MET"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.what, f.is, f.target, mark)
	}
	return w.Flush()
}
