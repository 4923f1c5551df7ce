package planted

import "testing"

// Every bug is an edit of the code of today.
func TestBugsFit(t *testing.T) {
	for _, b := range bugs {
		b.overlay(t, "../../..", t.TempDir())
	}
}
