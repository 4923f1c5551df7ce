// Package shape measures how the code is built, each figure beside its target: how long functions are, how much is explained, how
// big types are, how files of a package depend on each other, and through how many files one Lock leads. TestShape prints them
// (`make shape`). CONTRIBUTING.md says which targets are not met, and why.
//
// code.go counts lines, arrows.go what files use of each other, way.go the files on the way of a Lock, for which TestShape needs
// redis-server.
package shape

import "slices"

// folders are those of the tree that have code, lower ones first: code imports from those before its own only. The product comes
// first, then what stands on it.
var folders = append(slices.Clone(product), "contrib", "internal", "cmd", "bench", "examples")

// product are the folders of what users get.
var product = []string{"scripts", "futures", "wheel", "dispatcher", "engine"}

// harness are those of what tests and measures it.
var harness = []string{"cmd/loadgen", "internal", "bench"}

// figure is one row of the table.
type figure struct {
	what, is, target string
	ok               bool
}
