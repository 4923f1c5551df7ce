package scripts_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

// What the clock shows to a frozen script, in ms, and what a key has left that ends at all.
const (
	frozenNow    = 1_000_000_999
	frozenMicros = frozenNow*1000 + 123
	frozenTTL    = 70_000
)

// frozen is a script for which time stands still.
func frozen(s scripts.Script) scripts.Script { return frozenAfter(s, 0) }

// frozenAfter is one for which it stands still so many ms later.
func frozenAfter(s scripts.Script, ms int) scripts.Script {
	micros := int64(frozenMicros) + 1000*int64(ms)
	return scripts.Script{Name: s.Name, Text: `
local server = redis
local function still(how, name, ...)
	if name == 'TIME' then return { '` + strconv.FormatInt(micros/1_000_000, 10) + `', '` + strconv.FormatInt(micros%1_000_000, 10) + `' } end
	local reply = server[how](name, ...)
	if name == 'PTTL' and type(reply) == 'number' and reply > 0 then return ` + strconv.Itoa(frozenTTL) + ` end
	return reply
end
local redis = setmetatable({
	call = function(...) return still('call', ...) end,
	pcall = function(...) return still('pcall', ...) end,
}, { __index = server })
` + s.Text}
}

// Where notAfter stands among the arguments of each script that has one.
var notAfterAt = map[string]int{
	"acquire": 0, "acquire_in_line": 0, "acquire_fenced": 0, "adopt": 0, "acquire_read": 0, "acquire_write": 0, "fair_ask": 0, "take": 1, "give": 1, "add_permits": 1,
	"set_permits": 1, "drain_permits": 1, "count_down": 1, "set_count": 1, "delete_count": 1, "permit_take": 1, "permit_free": 1,
	"acquire_simple": 0, "acquire_simple_in_line": 0, "adopt_simple": 0, "permit_add": 1, "permit_set": 1, "permit_delete": 1, "delete_permits": 1,
}

// What runs in the millisecond of its notAfter is in time, and a millisecond later it is late.
// invariant: late-acquire-does-nothing
func TestNotAfterIsTheLastMillisecond(t *testing.T) {
	b := realBox(t)
	seen := make(map[string]bool)
	for _, s := range scenes() {
		at, has := notAfterAt[s.script.Name]
		if !has {
			continue
		}
		seen[s.script.Name] = true
		ask := func(notAfter int64) scripts.Reply {
			b := b.fresh(t)
			s.prepare(b)
			args := slices.Clone(s.args)
			args[at] = notAfter
			return scripts.Reply(number(t, b.eval(frozen(s.script), s.keys, args...)))
		}
		if reply := ask(frozenNow); reply.Fault() != scripts.None {
			t.Errorf("%s: in time it answered %d", s.name, reply)
		} else if _, late := reply.Late(); late {
			t.Errorf("%s: it was late in its last millisecond", s.name)
		}
		for _, notAfter := range []int64{frozenNow - 1, 1, 9} {
			if millis, late := ask(notAfter).Late(); !late || millis != frozenNow {
				t.Errorf("%s: late %t at %d, want at %d", s.name, late, millis, frozenNow)
			}
		}
	}
	for name := range notAfterAt {
		if !seen[name] {
			t.Errorf("there is no scene of %s", name)
		}
	}
}
