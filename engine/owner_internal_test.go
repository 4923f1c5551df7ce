package engine

import (
	"math"
	"testing"
)

// An owner field is ours if its client is this engine's whole id, and its number is a number, not a text.
func TestOwnersOfThisEngine(t *testing.T) {
	const uuid = "11111111-2222-4333-8444-555555555555"
	e := &Engine{uuid: uuid}
	for owner, want := range map[string]uint64{
		uuid + ":7":                    7,
		uuid + ":10":                   10,
		uuid + ":7:write":              7,
		uuid + ":18446744073709551615": math.MaxUint64,
		uuid + ":7:detached":           0,
		uuid + ":-7":                   0,
		uuid + "0:7":                   0,
		uuid[:35] + ":7":               0,
		"shard:" + uuid + ":7":         0,
		uuid + ":shard:7":              0,
	} {
		if got := (&Mutex{handle{e, "", mutexIndex}}).number(owner); got != want {
			t.Errorf("%q is number %d of ours, want %d", owner, got, want)
		}
	}
}
