package testkit

import (
	"regexp"
	"strings"
	"testing"
)

// AclRule is the words of the ACL SETUSER command in SECURITY.md, after the user's name and password.
func AclRule(t *testing.T) []string {
	t.Helper()
	_, after, found := strings.Cut(document(t, "SECURITY.md"), "\nACL SETUSER locks on >password ")
	rule, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatal("SECURITY.md has no ACL SETUSER rule")
	}
	return strings.Fields(rule)
}

// AclBesides is what SECURITY.md's table grants for an option, named by how its row begins.
func AclBesides(t *testing.T, option string) []string {
	t.Helper()
	document := document(t, "SECURITY.md")
	_, row, found := strings.Cut(document, "\n| `"+option)
	if !found { // no option
		_, row, found = strings.Cut(document, "\n| "+option)
	}
	row, _, _ = strings.Cut(row, "\n")
	words := regexp.MustCompile(`\+[a-z|]+`).FindAllString(strings.ReplaceAll(row, `\|`, "|"), -1)
	if !found || len(words) == 0 {
		t.Fatalf("SECURITY.md grants nothing for %s", option)
	}
	return words
}
