package wheel

import "testing"

// A batch that was read is not kept in memory by the slice that serves again.
func TestMailboxLetsGo(t *testing.T) {
	m := newMailbox[*int]()
	m.put(new(int))
	first := m.take(nil)
	if len(first) != 1 || first[0] == nil {
		t.Fatalf("took %v, want one letter", first)
	}
	m.take(first)
	if first[0] != nil {
		t.Error("the slice still holds what was read")
	}
}
