// Package notes passes on what an engine logs to a person.
package notes

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
)

// Logger passes on what an engine logs: broken links and the like. The same warning is told once in five seconds; that it is over, each time.
func Logger(tell func(format string, args ...any)) *slog.Logger {
	return slog.New(&notes{tell: tell, told: make(map[string]time.Time)})
}

// notes is a slog.Handler.
type notes struct {
	tell func(format string, args ...any)

	mu   sync.Mutex // guards the rest
	told map[string]time.Time
}

// between is how often the same warning is told.
const between = 5 * time.Second

// Enabled implements slog.Handler.
func (n *notes) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements slog.Handler.
func (n *notes) Handle(_ context.Context, r slog.Record) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r.Level > slog.LevelInfo && r.Time.Sub(n.told[r.Message]) < between {
		return nil
	}
	n.told[r.Message] = r.Time
	text := strings.TrimPrefix(r.Message, "wheellock: ")
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.Key + "=" + quoted(a.Value.String())
		return true
	})
	n.tell("%s", redisflags.Reword(text))
	return nil
}

// quoted is a value in quotes where it could be taken for more than a value: a name of a lock may have any bytes.
func quoted(value string) string {
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r == '"' || r == '=' || unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return strconv.Quote(value)
	}
	return value
}

// WithAttrs implements slog.Handler; engines do not use it.
func (n *notes) WithAttrs([]slog.Attr) slog.Handler { return n }

// WithGroup implements slog.Handler; engines do not use it.
func (n *notes) WithGroup(string) slog.Handler { return n }
