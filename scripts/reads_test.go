package scripts_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

// readsOf are the commands in the text of a script that read, but for TIME, which comes before the first write and raises.
func readsOf(s scripts.Script) []string {
	var names []string
	for _, call := range regexp.MustCompile(`\b(?:call|ask)\((?:l, )?'([A-Z]+)'`).FindAllStringSubmatch(s.Text, -1) {
		if slices.Contains(reads, call[1]) && call[1] != "TIME" && !slices.Contains(names, call[1]) {
			names = append(names, call[1])
		}
	}
	return names
}

// A user who may not read something is told so, and no reply says more than what stands.
func TestAReplyWithoutTheRightToReadIsTrue(t *testing.T) {
	b := realBox(t)
	for _, s := range slices.Concat(lockScenes, rwScenes, fairScenes, countingScenes, permitScenes) {
		for _, command := range readsOf(s.script) {
			if s.script.Name == scripts.PermitCount.Name && command == "ZRANGE" {
				continue // what is over cannot be told from what is held, and counts as held
			}
			t.Run(s.name+", "+command, func(t *testing.T) {
				b := b.fresh(t)
				if s.setup != nil {
					s.setup(b)
				}
				before := b.things()
				script := wrapped(s.script, "local refused = 0", `
	if name ~= '`+command+`' then return nil end
	refused = refused + 1
	return 'NOPERM User limited has no permissions to run the command'`, "reply = { reply, 0, refused }")
				s.run(t, b, before, script, scripts.NoPerm, true)
				s.run(t, b, before, s.script, scripts.None, true)
			})
		}
	}
}
