package gate

import (
	"math"
	"testing"
)

// Of messages is kept how many there were, the largest number, and the first of what may be codes.
func TestNews(t *testing.T) {
	var n News
	most := func(said, want int64) {
		t.Helper()
		if n.Add(said); n.Most != want {
			t.Errorf("after %d the largest is %d, want %d", said, n.Most, want)
		}
	}
	most(-7, -7)
	most(-9, -7)
	most(0, 0)
	most(1, 1)
	most(2, 2)
	most(-5, 2)
	most(15, 15)
	for _, code := range []int64{13, 14, 12} {
		most(code, 15)
	}
	if n.N != 10 || n.ones != 1 {
		t.Errorf("%d messages, of which %d are for Redisson, want 10 and 1", n.N, n.ones)
	}
	if n.kept != 4 || n.codes != [4]int64{-7, -9, 2, -5} {
		t.Errorf("kept are %v", n.codes[:n.kept])
	}
	n.N = math.MaxInt32
	if n.Add(1); n.N != math.MaxInt32 || n.ones != 1 {
		t.Errorf("there are %d messages, of which %d are for Redisson", n.N, n.ones)
	}
}
