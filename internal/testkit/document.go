package testkit

import (
	"os"
	"regexp"
	"testing"
)

// CodeBlocks returns the blocks of code in a language that a document has, such as docs/JAVA.md. There is one at least.
func CodeBlocks(tb testing.TB, name, language string) (blocks []string) {
	tb.Helper()
	for _, found := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(document(tb, name), -1) {
		blocks = append(blocks, found[1])
	}
	if len(blocks) == 0 {
		tb.Fatalf("%s has no code in %s", name, language)
	}
	return blocks
}

// document is the text of a document, by its path in the repository.
func document(tb testing.TB, name string) string {
	tb.Helper()
	above := ""
	for range 6 { // no package lies deeper
		above += "../"
		if text, err := os.ReadFile(above + name); err == nil {
			return string(text)
		}
	}
	tb.Fatalf("no %s above", name)
	return ""
}
