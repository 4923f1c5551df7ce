// Package shape measures how the code is built, each figure beside its target: how big types and their methods are, in how many places
// an operation stands, how much code there is, in what English its comments are, and through how many files one Lock leads. TestShape
// prints them (`make shape`; it needs redis-server). CONTRIBUTING.md says which targets are not met, and why.
package shape

import "slices"

// folders are those of the tree that have code, lower ones first: code imports from those before its own only. The product comes
// first, then what stands on it.
var folders = append(slices.Clone(product), "contrib", "internal", "cmd", "bench", "examples")

// product are the folders of what users get.
var product = []string{"scripts", "futures", "wheel", "dispatcher", "engine"}

// harness are those of what tests and measures it.
var harness = []string{"cmd", "internal", "bench"}

// written are the product and the documents, without CHANGELOG.md, which tells of the past.
var written = append(slices.Clone(product), "cmd", "docs", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "TESTING.md")

// figure is one row of the table.
type figure struct {
	what     string
	is, most int
	where    string
}
