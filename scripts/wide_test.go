package scripts_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// In a hash slot that is open on its way a wide call does nothing for a name of which a key is not there, as a call that declares its keys.
// invariant: batch-error-charges-nobody, command-follows-its-slot
func TestAWideCallTouchesNoNameWhoseKeysMayBeApart(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 2, 0)
	slot := int(scripts.HashSlot(one))
	node := c.NodeOf(slot)
	b := &box{t, dial(t, node.Addr(), "", ""), node}
	c.BeginMove(slot, c.Nodes[1-slices.Index(c.Nodes, node)])
	number := strconv.Itoa(slot)
	elsewhere := c.Nodes[1-slices.Index(c.Nodes, node)].MustDo("CLUSTER", "MYID").Text
	tried := 0
	for _, s := range scenes() {
		if len(s.keys) == 1 || strings.HasPrefix(s.script.Name, "count") || s.script.Name == "permit_count" {
			continue
		}
		b.run(t, s.name, func(t *testing.T, b *box) {
			b.must("CLUSTER", "SETSLOT", number, "STABLE")
			s.prepare(b)
			if b.must(append([]string{"EXISTS"}, s.keys...)...) == strconv.Itoa(len(s.keys)) {
				return
			}
			tried++
			before := b.dump()
			b.must("CLUSTER", "SETSLOT", number, "MIGRATING", elsewhere)
			answer := b.do(wide(evaluation(s.script, s.keys, s.args))...)
			if !strings.HasPrefix(answer, "!ASK ") { // as of a first key that is not there
				b.want(answer, fault(scripts.Moving), "the wide call")
			}
			if after := b.dump(); !alike(before, after) {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
	if tried < 30 {
		t.Errorf("%d scenes were tried", tried)
	}
}
