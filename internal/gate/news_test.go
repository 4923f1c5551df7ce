package gate

import (
	"math"
	"testing"
)

// Of messages is kept how many there were, the largest number, and the first of what may be codes of claims.
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
	if n.N != 10 || n.noHints != 4 {
		t.Errorf("%d messages, of which %d are no hints, want 10 and 4", n.N, n.noHints)
	}
	if n.kept != mostProofs || n.proofs != [mostProofs]proof{{2, 9}, {15, 5}, {13, 5}, {14, 5}} {
		t.Errorf("kept are %v", n.proofs[:n.kept])
	}
	n.N = math.MaxInt32
	if n.Add(-1); n.N != math.MaxInt32 || n.noHints != 4 {
		t.Errorf("there are %d messages, of which %d are no hints", n.N, n.noHints)
	}
}

// The same to the digit as in scripts.TestClaimsOfFencedMutexes.
func TestProofOfAClaim(t *testing.T) {
	c := claim{code: 3_000_000_000_999_999_999}
	if got := c.proof(9_007_199_254_740_064); got != 3_000_000_000_254_740_063 {
		t.Errorf("got %d", got)
	}
}

// A token may be announced in another look at the channel than its code.
func TestATokenIsKeptForItsCode(t *testing.T) {
	c := claim{id: 2, code: 1001}
	var announced, said News
	announced.Add(-5063)
	said.Add(c.proof(5063))
	if c.proven(&announced, true) || !c.proven(&said, true) || c.token != 5063 {
		t.Errorf("the token is %d, want 5063", c.token)
	}
}
