package scripts_test

import (
	"fmt"
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

// A user who may not run a command that reads, or not on one of the keys, is told so, and no reply says more than what stands.
func TestAReplyWithoutTheRightToReadIsTrue(t *testing.T) {
	t.Parallel()
	b := realBox(t)
	for _, s := range scenes() {
		for _, command := range readsOf(s.script) {
			keys := slices.Compact(slices.Sorted(slices.Values(s.keys)))
			if len(keys) > 1 {
				keys = append(keys, "") // all of them
			}
			for _, key := range keys {
				b.run(t, s.name+", "+command+" "+key, func(t *testing.T, b *box) {
					s.prepare(b)
					before := b.things()
					script := wrapped(s.script, "local refused = 0", fmt.Sprintf(`
	if name ~= %q or %q ~= '' and %[2]q ~= ... then return nil end
	refused = refused + 1
	return 'NOPERM User limited has no permissions to run the command'`, command, key), "reply = { reply, 0, refused }")
					told := s
					told.check = func(o *outcome) {
						if f := o.reply.Fault(); f != scripts.None && f != scripts.NoPerm {
							t.Errorf("answered %d: %v", o.reply, f)
						}
						s.check(o)
					}
					told.run(t, b, before, script, scripts.NoPerm, true)
					s.run(t, b, before, s.script, scripts.None, true)
				})
			}
		}
	}
}
