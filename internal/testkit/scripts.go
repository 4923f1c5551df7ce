package testkit

import (
	"crypto/sha1"
	"encoding/hex"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// Runs matches the calls of a script.
func Runs(s scripts.Script) func([]string) bool { return redistest.Command("EVALSHA", Digest(s)) }

// Digest is what Redis calls a script.
func Digest(s scripts.Script) string {
	sum := sha1.Sum([]byte(s.Text))
	return hex.EncodeToString(sum[:])
}
