package notes_test

import (
	"fmt"
	"slices"
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

// What concerns a flag names no option of the engine.
func TestNotesNameNoOptions(t *testing.T) {
	var said string
	notes.Logger(func(format string, args ...any) { said = fmt.Sprintf(format, args...) }).Warn("wheellock: Redis cannot be reached", "error", "dial tcp: Redis.AuthCredentialsFn: --password-file: gone")
	if want := `Redis cannot be reached error="dial tcp: --password-file: gone"`; said != want {
		t.Errorf("it said %q, want %q", said, want)
	}
}

// Of two outages in five seconds the second is told less of, but not that it lasts.
func TestWhatIsOverIsTold(t *testing.T) {
	var told []string
	logger := notes.Logger(func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) })
	for range 2 {
		logger.Warn("wheellock: Redis cannot be reached")
		logger.Info("wheellock: Redis can be reached again")
	}
	if want := []string{"Redis cannot be reached", "Redis can be reached again", "Redis can be reached again"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
