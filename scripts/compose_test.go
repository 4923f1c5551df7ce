package scripts_test

import (
	"strings"
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

// Lua makes each function in every call: the usual call makes none of those that tell of faults or of lines.
func TestTheUsualCallMakesFewFunctions(t *testing.T) {
	b := realBox(t)
	count := func(s scripts.Script, keys []string, args ...any) string {
		before := "local made = 0\n"
		text := strings.ReplaceAll(s.Text, "if not lib then\n", "if not lib then made = made + 1\n")
		counted := scripts.Script{Name: s.Name, Text: before + strings.Replace(text, "return each(", "local reply = each(", 1) + "\nreturn made"}
		return b.eval(counted, keys, args...)
	}
	b.want(count(scripts.Acquire, []string{one, two}, 0, "me:1", "me:2", hour), "0", "acquire")
	b.want(count(scripts.Release, []string{one, one, two, two}, "PUBLISH", "me:1", nobody, "me:2", nobody), "0", "release")
	b.want(count(scripts.AcquireWrite, names, 0, "me:1:write", hour), "0", "acquire_write")
	b.must("ZADD", lineNames[1], "1", bob+":2:write 1")
	b.want(count(scripts.ReleaseWrite, lineNames[:2], "PUBLISH", "me:1:write", nobody), "1", "release_write to a line, which calls several")
}
