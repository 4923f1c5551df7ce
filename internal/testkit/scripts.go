package testkit

import (
	"crypto/sha1"
	"encoding/hex"

	"github.com/wheellock/wheellock/scripts"
)

// Digest is what Redis calls a script.
func Digest(s scripts.Script) string {
	sum := sha1.Sum([]byte(s.Text))
	return hex.EncodeToString(sum[:])
}
