package notes_test

import (
	"fmt"
	"testing"

	"github.com/wheellock/wheellock/cmd/internal/notes"
)

// A name may have any bytes. It cannot look like another line, or like another attribute.
func TestValuesAreQuoted(t *testing.T) {
	var said string
	logger := notes.Logger(func(format string, args ...any) { said = fmt.Sprintf(format, args...) })
	logger.Warn("wheellock: a lock was lost", "name", "e2\nwheellock lock: granted", "kind", "fenced", "empty", "")
	if want := `a lock was lost name="e2\nwheellock lock: granted" kind=fenced empty=""`; said != want {
		t.Errorf("it said %q, want %q", said, want)
	}
}
