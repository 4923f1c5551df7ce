package scripts_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// layout is how many keys a name has in a call, how many arguments all names share, and how many each has; behind them may come one
// lease for all names, or one for each.
type layout struct {
	keys, shared, each int
	leases             bool
}

var layouts = map[string]layout{
	"acquire": {1, 1, 1, true}, "acquire_fenced": {2, 3, 2, false}, "release": {2, 1, 2, false}, "renew": {1, 0, 1, true},
	"confirm": {2, 1, 3, false}, "acquire_in_line": {3, 4, 3, false}, "release_from_line": {2, 1, 3, false},
	"detach": {2, 1, 4, false}, "adopt": {2, 3, 3, false}, "count_waiters": {2, 1, 1, false},
	"acquire_read": {3, 2, 3, false}, "acquire_write": {1, 1, 2, false}, "acquire_write_in_line": {2, 2, 3, false},
	"release_read": {3, 2, 2, false}, "release_read_from_line": {3, 2, 3, false}, "release_write": {2, 1, 2, false}, "release_write_from_line": {2, 1, 3, false},
	"renew_read": {2, 0, 1, true}, "confirm_read": {3, 1, 3, false}, "downgrade": {3, 1, 4, false},
	"fair_ask": {5, 4, 7, false}, "fair_release": {5, 2, 4, false}, "fair_leave": {5, 2, 3, false},
	"acquire_simple": {1, 1, 2, false}, "acquire_simple_in_line": {2, 2, 4, false}, "renew_simple": {1, 0, 1, true}, "confirm_simple": {2, 0, 2, false},
	"release_simple": {2, 1, 3, false}, "release_simple_from_line": {2, 1, 4, false}, "adopt_simple": {1, 1, 3, false}, "detach_simple": {2, 1, 4, false},
	"peek": {1, 0, 0, false},
	"take": {3, 3, 6, false}, "give": {3, 2, 3, false}, "add_permits": {3, 2, 3, false}, "set_permits": {3, 2, 3, false},
	"drain_permits": {2, 2, 3, false}, "count_down": {2, 2, 3, false}, "set_count": {2, 2, 3, false}, "delete_count": {2, 2, 3, false},
	"look": {1, 0, 0, false}, "permit_take": {4, 4, 6, false}, "permit_renew": {1, 1, 1, false}, "permit_free": {4, 3, 4, false},
	"permit_add": {3, 2, 3, false}, "permit_set": {4, 2, 3, false}, "permit_delete": {3, 2, 3, false}, "delete_permits": {2, 2, 3, false},
}

// alone are the calls that do for one name each what a command does for all of its names.
func (l layout) alone(command []string) [][]string {
	n, _ := strconv.Atoi(command[2])
	keys, args := command[3:3+n], command[3+n:]
	names := n / l.keys
	behind := args[l.shared+names*l.each:]
	var calls [][]string
	for i := range names {
		call := append([]string{"EVAL", command[1], strconv.Itoa(l.keys)}, keys[i*l.keys:(i+1)*l.keys]...)
		call = append(call, args[:l.shared]...)
		call = append(call, args[l.shared+i*l.each:l.shared+(i+1)*l.each]...)
		if l.leases {
			call = append(call, behind[min(i, len(behind)-1)])
		}
		calls = append(calls, call)
	}
	return calls
}

// wide is a call as a wide one, which declares its first key.
func wide(command []string) []string {
	n, _ := strconv.Atoi(command[2])
	keys, args := command[3:3+n], command[3+n:]
	return slices.Concat(command[:2], []string{"1", keys[0]}, args, keys, []string{strconv.Itoa(n), scripts.KeysBehind})
}

// strictly is a call that ends with an error if the server refuses a command in it because of its keys.
func strictly(command []string) []string {
	return slices.Concat(command[:1], []string{`
local server = redis
local redis = setmetatable({
	pcall = function(...)
		local reply = server.pcall(...)
		local words = type(reply) == 'table' and reply.err or ''
		if string.find(words, 'same slot', 1, true) or string.find(words, 'non local key', 1, true) then error(words) end
		return reply
	end,
}, { __index = server })
` + command[1]}, command[2:])
}

// clusterBox is a cluster of one node.
func clusterBox(tb testing.TB) *box {
	b := realBox(tb, "--cluster-enabled", "yes")
	slots := []string{"CLUSTER", "ADDSLOTS"} // and not ADDSLOTSRANGE, which Redis 6.2 lacks
	for slot := range 16384 {
		slots = append(slots, strconv.Itoa(slot))
	}
	b.must(slots...)
	redistest.Await(tb, "the cluster to be whole", func() bool { return strings.Contains(b.must("CLUSTER", "INFO"), "cluster_state:ok") })
	return b
}

// A name fares in a call for many as it does alone, also in a wide one, whose names are in several hash slots of a node. There no command of
// a script has keys of two.
// invariant: batch-error-charges-nobody
func TestManyNamesFareAsEachAlone(t *testing.T) {
	together, alone, widely := realBox(t), realBox(t), clusterBox(t)
	d := newDuel(1, 4, together, alone)
	called := make(map[string]bool)
	for i := range 800 {
		command := d.command()
		at := slices.IndexFunc(all, func(s scripts.Script) bool { return s.Text == command[1] })
		if at < 0 || layouts[all[at].Name].keys == 0 {
			together.do(command...)
			alone.do(command...)
			widely.do(command...)
			continue
		}
		called[all[at].Name] = true
		ours := together.do(command...)
		var answers []string
		for _, call := range layouts[all[at].Name].alone(command) {
			answers = append(answers, alone.do(call...))
		}
		theirs := "[" + strings.Join(answers, " ") + "]"
		if !alike(inFull(ours, theirs), theirs) {
			t.Fatalf("call %d, %s: together %s, alone %s", i, shown(command), ours, theirs)
		}
		if answer := widely.do(strictly(wide(command))...); !alike(inFull(answer, theirs), theirs) {
			t.Fatalf("call %d, %s: wide %s, alone %s", i, shown(command), answer, theirs)
		}
		if i%5 == 0 {
			if a, b := together.dump(), alone.dump(); !alike(a, b) {
				t.Fatalf("call %d, %s: what stands differs\ntogether:\n%s\nalone:\n%s", i, shown(command), a, b)
			}
			if a, b := widely.dump(), alone.dump(); !alike(a, b) {
				t.Fatalf("call %d, %s: what stands differs\nin a cluster:\n%s\nalone:\n%s", i, shown(command), a, b)
			}
		}
	}
	for name := range layouts {
		if !called[name] {
			t.Errorf("%s was not called", name)
		}
	}
}

// Each name is announced on its own channel: the second one of a call as the only one.
func TestTheSecondNameIsAnnouncedOnItsChannel(t *testing.T) {
	b := realBox(t)
	heard := b.listen(nobody)
	for _, s := range slices.Concat(lockScenes, rwScenes, countingScenes, permitScenes) {
		l, many := layouts[s.script.Name]
		if exactly[s.name].heard == "" || !many {
			continue
		}
		b.run(t, s.name, func(t *testing.T, b *box) {
			s.prepare(b)
			var keys []string
			for _, key := range s.keys {
				keys = append(keys, key+":first")
			}
			args := slices.Clone(s.args)
			for i, arg := range args {
				if arg == nobody {
					args[i] = "elsewhere"
				}
			}
			args = append(args[:l.shared+l.each], s.args[l.shared:]...)
			b.eval(frozen(s.script), append(keys, s.keys...), args...)
			b.want(b.said(nobody, heard), exactly[s.name].heard, "the channel")
		})
	}
}
