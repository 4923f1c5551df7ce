package scripts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// given is the answer to a release that gave the lock to a claim, which so many heard.
func given(heard int) string { return fmt.Sprint(int64(scripts.Passed) + 1 + int64(heard)) }

// ask asks for the lock that somebody has: so it leaves a claim.
func (b *box) ask(owner string, code int) {
	b.Helper()
	reply := scripts.Reply(number(b, b.eval(scripts.AcquireClaim, claimNames, 0, owner, 30_000, code)))
	if _, taken := reply.Held(); !taken {
		b.Fatalf("%s is answered %d, want that the lock is taken", owner, reply)
	}
}

// giveUp is the release by an engine of which so many connections listen.
func (b *box) giveUp(owner string, own int) string {
	b.Helper()
	return b.eval(scripts.ReleaseClaim, claimNames, "PUBLISH", owner, channel, own)
}

// invariant: claim-counts-from-its-acquire
func TestClaims(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		held := func(t *testing.T) (*box, <-chan string) {
			b := b.fresh(t)
			heard := b.listen(channel)
			b.want(b.eval(scripts.AcquireClaim, claimNames, 0, "me:1", 30_000, 71), "1")
			return b, heard
		}
		t.Run("who asks first is given the lock, for what is left of its claim", func(t *testing.T) {
			b, heard := held(t)
			b.ask("you:2", 72)
			b.ask("they:3", 73)
			other := b.listen(channel)
			b.want(b.giveUp("me:1", 0), given(2))
			b.stands(one, "you:2=1")
			b.lasts(one, 2*time.Second)
			b.want(<-heard, "72", "the message")
			b.want(<-other, "72", "the message")
			b.want(b.must("HEXISTS", claimNames[1], "you"), "0", "the claim")
			b.lasts(claimNames[1], 2*time.Second)
			b.want(b.eval(scripts.AcquireClaim, claimNames, 0, "you:2", 30_000, 72), "1", "asked again")
			b.lasts(one, 30*time.Second)
		})
		t.Run("a release that is sent again gives nothing", func(t *testing.T) {
			b, _ := held(t)
			b.ask("you:2", 72)
			b.want(b.giveUp("me:1", 0), given(1))
			b.ask("they:3", 73)
			b.want(b.giveUp("me:1", 0), "-1")
			b.stands(one, "you:2=1")
		})
		t.Run("an owner that asks again keeps its turn, and a late copy takes none", func(t *testing.T) {
			b, _ := held(t)
			b.ask("you:2", 72)
			b.ask("they:3", 73)
			b.ask("you:2", 72)
			b.ask("you:1", 70)
			b.listen(channel)
			b.want(b.giveUp("me:1", 0), given(2))
			b.stands(one, "you:2=1")
		})
		t.Run("beside a listener that claims nothing the lock is freed", func(t *testing.T) {
			b, heard := held(t)
			b.ask("you:2", 72)
			b.listen(channel)
			b.want(b.giveUp("me:1", 0), "2")
			b.want(b.must("EXISTS", one), "0", "EXISTS")
			b.want(<-heard, "0", "the message")
		})
		t.Run("the listener may be the engine that releases", func(t *testing.T) {
			b, heard := held(t)
			b.listen(channel)
			b.ask("you:2", 72)
			b.want(b.giveUp("me:1", 1), given(2))
			b.want(<-heard, "72", "the message")
			b.lasts(claimNames[1], 2*time.Second) // with the last claim gone
		})
		t.Run("where nobody listens the lock is freed", func(t *testing.T) {
			b := b.fresh(t)
			b.eval(scripts.AcquireClaim, claimNames, 0, "me:1", 30_000, 71)
			b.ask("you:2", 72)
			b.want(b.giveUp("me:1", 0), "0")
			b.want(b.must("EXISTS", one), "0", "EXISTS")
		})
		t.Run("a claim ends with the release of its owner", func(t *testing.T) {
			b, heard := held(t)
			b.ask("you:2", 72)
			b.want(b.giveUp("you:2", 0), "-1")
			b.want(b.giveUp("me:1", 0), "1")
			b.want(<-heard, "0", "the message")
		})
		t.Run("a claim ends when its owner gets the lock", func(t *testing.T) {
			b, heard := held(t)
			b.ask("you:2", 72)
			b.want(b.eval(scripts.Release, []string{one}, "PUBLISH", "me:1", channel), "1")
			b.want(<-heard, "0", "the message")
			b.want(b.eval(scripts.AcquireClaim, claimNames, 0, "you:2", 30_000, 72), "1")
			b.want(b.giveUp("you:2", 0), "1")
		})
		t.Run("nobody is given what has too little time left", func(t *testing.T) {
			b, _ := held(t)
			now := b.serverMillis()
			b.must("HSET", claimNames[1], "you", fmt.Sprintf("you:2 72 %d %d", now+990, 1000*(now-1010)))
			b.want(b.giveUp("me:1", 0), "1")
		})
		t.Run("once in a while the lock is freed, for who polls", func(t *testing.T) {
			b, _ := held(t)
			b.ask("you:2", 72)
			b.must("HSET", claimNames[1], "began", fmt.Sprint(b.serverMillis()-100))
			b.want(b.giveUp("me:1", 0), "1")
			b.want(b.must("HEXISTS", claimNames[1], "began"), "0", "began")
		})
		t.Run("who may not write has no claim, and what it had stands as it was", func(t *testing.T) {
			if b.redis == nil {
				t.Skip("miniredis knows no maxmemory")
			}
			b, _ := held(t)
			b.ask("you:2", 72)
			was := b.must("HGET", claimNames[1], "you")
			b.must("CONFIG", "SET", "maxmemory", "1")
			for _, owner := range []string{"you:2", "they:3"} {
				reply := scripts.Reply(number(t, b.eval(scripts.AcquireClaim, claimNames, 0, owner, 30_000, 72)))
				if _, taken := reply.Held(); !taken || reply.Claimed() {
					t.Errorf("%s is answered %d, want that the lock is taken and no claim stands", owner, reply)
				}
			}
			b.must("CONFIG", "SET", "maxmemory", "0")
			b.want(b.must("HGET", claimNames[1], "you"), was, "the claim")
			b.want(b.must("HEXISTS", claimNames[1], "they"), "0", "a claim")
		})
		t.Run("a key of another type has no claims", func(t *testing.T) {
			b, _ := held(t)
			b.must("SET", claimNames[1], "x")
			b.ask("you:2", 72)
			b.want(b.giveUp("me:1", 0), "1")
			b.want(b.must("GET", claimNames[1]), "x")
		})
		t.Run("what is no claim is none", func(t *testing.T) {
			b, _ := held(t)
			b.must("HSET", claimNames[1], "you", "you:2 72", "they", "they 73 99999999999999 1")
			b.want(b.giveUp("me:1", 0), "1")
		})
		t.Run("claims end by themselves", func(t *testing.T) {
			b, _ := held(t)
			b.ask("you:2", 72)
			b.lasts(claimNames[1], 2*time.Second)
		})
	})
}

// Names that share a channel share no claims: what is given to one would be taken for the other.
func TestClaimsOfAliasesAreApart(t *testing.T) {
	if a, b := scripts.ClaimsKey("a"), scripts.ClaimsKey("{a}"); a == b {
		t.Errorf("both have %s", a)
	}
}
