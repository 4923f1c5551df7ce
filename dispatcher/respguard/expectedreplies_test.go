package respguard

import "testing"

// What is expected on a connection takes as much memory as is under way, however long it never is nothing.
func TestExpectedRepliesAreBounded(t *testing.T) {
	var o expectedReplies
	o.add(expectedReply{how: wideReply, n: 1})
	for range 100_000 {
		o.add(expectedReply{how: wideReply, n: 1})
		if !o.any() {
			t.Fatal("nothing is expected")
		}
		if err := o.answered('*', nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.queue) > 16 || cap(o.queue) > 64 {
		t.Errorf("for 1 reply under way %d are kept, and room for %d", len(o.queue), cap(o.queue))
	}
}
