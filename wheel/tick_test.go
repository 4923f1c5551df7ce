package wheel

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTicks(t *testing.T) {
	const length = 50 * time.Millisecond
	for _, c := range []struct {
		at          time.Duration
		floor, ceil Tick
	}{
		{0, 0, 0},
		{1, 0, 1},
		{length - 1, 0, 1},
		{length, 1, 1},
		{length + 1, 1, 2},
		{-1, -1, 0},
		{-length, -1, -1},
		{-length - 1, -2, -1},
		{1<<63 - 1, Tick((1<<63 - 1) / length), Tick((1<<63-1)/length) + 1},
	} {
		if got := Floor(c.at, length); got != c.floor {
			t.Errorf("Floor(%v) = %d, want %d", c.at, got, c.floor)
		}
		if got := Ceil(c.at, length); got != c.ceil {
			t.Errorf("Ceil(%v) = %d, want %d", c.at, got, c.ceil)
		}
	}
}

func TestTickSurroundsItsInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := time.Duration(rapid.Int64Range(1, 1e10).Draw(t, "length"))
		at := time.Duration(rapid.Int64Range(-1e17, 1e17).Draw(t, "at"))
		if begin := Floor(at, length).Begin(length); begin > at || at-begin >= length {
			t.Fatalf("%v is not in tick %d, which begins at %v", at, Floor(at, length), begin)
		}
		if begin := Ceil(at, length).Begin(length); begin < at || begin-at >= length {
			t.Fatalf("tick %d, which begins at %v, is not the first after %v", Ceil(at, length), begin, at)
		}
	})
}
