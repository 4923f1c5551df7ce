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
	reply := scripts.Reply(number(b, b.eval(scripts.AcquireClaim, claimNames, 0, 64, 86400000, owner, 30_000, code)))
	if _, taken := reply.Held(); !taken {
		b.Fatalf("%s is answered %d, want that the lock is taken", owner, reply)
	}
}

// giveUp is the release by an engine of which so many connections listen.
func (b *box) giveUp(owner string, own int) string {
	b.Helper()
	return b.eval(scripts.ReleaseClaim, claimNames[:2], "PUBLISH", owner, channel, own)
}

// invariant: claim-counts-from-its-acquire
func TestClaims(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		held := func(t *testing.T) (*box, <-chan string) {
			b := b.fresh(t)
			heard := b.listen(channel)
			b.want(b.eval(scripts.AcquireClaim, claimNames, 0, 64, 86400000, "me:1", 30_000, 71), "1")
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
			b.want(b.said(channel, heard), "72 1", "the messages") // the 1 wakes waiters of Redisson
			b.want(b.said(channel, other), "72 1", "the messages")
			b.want(b.must("HEXISTS", claimNames[1], "you"), "0", "the claim")
			b.lasts(claimNames[1], 2*time.Second)
			b.want(b.eval(scripts.AcquireClaim, claimNames, 0, 64, 86400000, "you:2", 30_000, 72), "1", "asked again")
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
			b.want(b.said(channel, heard), "0", "the message")
		})
		t.Run("the listener may be the engine that releases", func(t *testing.T) {
			b, heard := held(t)
			b.listen(channel)
			b.ask("you:2", 72)
			b.want(b.giveUp("me:1", 1), given(2))
			b.want(b.said(channel, heard), "72 1", "the message")
			b.lasts(claimNames[1], 2*time.Second) // with the last claim gone
		})
		t.Run("where nobody listens the lock is freed", func(t *testing.T) {
			b := b.fresh(t)
			b.eval(scripts.AcquireClaim, claimNames, 0, 64, 86400000, "me:1", 30_000, 71)
			b.ask("you:2", 72)
			b.want(b.giveUp("me:1", 0), "0")
			b.want(b.must("EXISTS", one), "0", "EXISTS")
		})
		t.Run("a claim ends with the release of its owner", func(t *testing.T) {
			b, heard := held(t)
			b.ask("you:2", 72)
			b.want(b.giveUp("you:2", 0), "-1")
			b.want(b.giveUp("me:1", 0), "1")
			b.want(b.said(channel, heard), "0", "the message")
		})
		t.Run("a claim ends when its owner gets the lock", func(t *testing.T) {
			b, heard := held(t)
			b.ask("you:2", 72)
			b.want(b.eval(scripts.Release, []string{one}, "PUBLISH", "me:1", channel), "1")
			b.want(b.said(channel, heard), "0", "the message")
			b.want(b.eval(scripts.AcquireClaim, claimNames, 0, 64, 86400000, "you:2", 30_000, 72), "1")
			b.want(b.giveUp("you:2", 0), "1")
		})
		t.Run("an owner that has left claims nothing any more", func(t *testing.T) {
			b, _ := held(t)
			b.must("HSET", claimNames[1], "me", fmt.Sprintf("me:1 71 %d 1", b.serverMillis()+2000))
			b.ask("you:2", 72)
			b.want(b.giveUp("me:1", 0), given(1))
			b.stands(one, "you:2=1")
			b.want(b.must("HEXISTS", claimNames[1], "me"), "0", "the claim")
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
		t.Run("claims that have run out make room", func(t *testing.T) {
			b, _ := held(t)
			for i := range 33 { // engines that were killed while they waited, one of them before the clock was put back
				ends := b.serverMillis() - 1000 + int64(i/32*60_000)
				b.must("HSET", claimNames[1], fmt.Sprint("engine", i), fmt.Sprintf("engine%d:1 70 %d 1", i, ends))
			}
			b.ask("you:2", 72)
			b.want(b.must("HLEN", claimNames[1]), "1", "claims")
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
				reply := scripts.Reply(number(t, b.eval(scripts.AcquireClaim, claimNames, 0, 64, 86400000, owner, 30_000, 72)))
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

// What a claim says, and which of them are good, to the millisecond.
// invariant: claim-counts-from-its-acquire
func TestClaimsToTheMillisecond(t *testing.T) {
	b := realBox(t)
	const (
		refused = -frozenTTL - 2
		claimed = -1<<43 + refused
	)
	claim := func(owner string, ends, since int64) string { return fmt.Sprintf("%s 72 %d %d", owner, ends, since) }
	stands := claim("you:2", frozenNow+2000, frozenMicros)
	for name, of := range map[string]struct {
		before []string // fields and what they say
		reply  int64
		after  string // the claim of you
	}{
		"the first":                           {nil, claimed, stands},
		"one that stands keeps its turn":      {[]string{"you", claim("you:2", frozenNow+1, 5)}, claimed, claim("you:2", frozenNow+2000, 5)},
		"one that has run out has no turn":    {[]string{"you", claim("you:2", frozenNow, 5)}, claimed, stands},
		"an owner before it had its own turn": {[]string{"you", claim("you:1", frozenNow+1000, 5)}, claimed, stands},
		"a later owner's stays":               {[]string{"you", claim("you:3", frozenNow+1000, 5)}, refused, claim("you:3", frozenNow+1000, 5)},
		"the last that has room":              {claimsOf(32), claimed, stands},
		"one for which there is no room":      {claimsOf(33), refused, "nil"},
		"one that had its place":              {append(claimsOf(32), "you", claim("you:2", frozenNow, 5)), claimed, stands},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.fresh(t)
			standing("me:1", "1")(b)
			if of.before != nil {
				b.must(append([]string{"HSET", claimNames[1]}, of.before...)...)
			}
			b.want(b.eval(frozen(scripts.AcquireClaim), claimNames, 0, 64, 86400000, "you:2", 30_000, 72), fmt.Sprint(of.reply))
			b.want(b.must("HMGET", claimNames[1], "you"), "["+of.after+"]", "the claim")
			if of.reply == claimed {
				if left := number(t, b.must("PTTL", claimNames[1])); left > 2000 || left == -1 {
					t.Errorf("the claims last for %d ms, want 2000 or a little less", left)
				}
			}
		})
	}
	t.Run("one that would not end", func(t *testing.T) {
		b := b.fresh(t)
		standing("me:1", "1")(b)
		b.must("ACL", "SETUSER", "default", "-pexpire")
		reply := b.eval(frozen(scripts.AcquireClaim), claimNames, 0, 64, 86400000, "you:2", 30_000, 72)
		b.must("ACL", "SETUSER", "default", "+pexpire")
		b.want(reply, fmt.Sprint(refused))
		b.want(b.must("EXISTS", claimNames[1]), "0", "the claims")
	})
	for name, of := range map[string]struct {
		claims []string
		to     string // who gets the lock; empty: nobody
		lease  int64  // for how many ms
		began  string // since when it is given, then
	}{
		"the first that is given":                     {[]string{"you", claim("you:2", frozenNow+2000, 5)}, "you:2", 2000, fmt.Sprint(frozenNow)},
		"one of a clock that was put back":            {[]string{"you", claim("you:2", frozenNow+2001, 5)}, "", 0, "nil"},
		"one that has just enough time":               {[]string{"you", claim("you:2", frozenNow+1000, 5)}, "you:2", 1000, fmt.Sprint(frozenNow)},
		"one that has too little":                     {[]string{"you", claim("you:2", frozenNow+999, 5)}, "", 0, "nil"},
		"the oldest":                                  {[]string{"you", claim("you:2", frozenNow+2000, 6), "they", claim("they:3", frozenNow+1500, 5)}, "they:3", 1500, fmt.Sprint(frozenNow)},
		"of two that are as old the first":            {[]string{"you", claim("you:2", frozenNow+2000, 5), "they", claim("they:3", frozenNow+1500, 5)}, "they:3", 1500, fmt.Sprint(frozenNow)},
		"the last of a turn":                          {[]string{"you", claim("you:2", frozenNow+2000, 5), "began", fmt.Sprint(frozenNow - 99)}, "you:2", 2000, fmt.Sprint(frozenNow - 99)},
		"none when the turn is over":                  {[]string{"you", claim("you:2", frozenNow+2000, 5), "began", fmt.Sprint(frozenNow - 100)}, "", 0, "nil"},
		"none in a turn of a clock that was put back": {[]string{"you", claim("you:2", frozenNow+2000, 5), "began", fmt.Sprint(frozenNow + 1)}, "", 0, "nil"},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.fresh(t)
			standing("me:1", "1")(b)
			heard := b.listen(channel)
			b.must(append([]string{"HSET", claimNames[1]}, of.claims...)...)
			before := time.Now()
			reply := b.eval(frozen(scripts.ReleaseClaim), claimNames[:2], "PUBLISH", "me:1", channel, 0)
			said := b.said(channel, heard)
			b.want(b.must("HMGET", claimNames[1], "began"), "["+of.began+"]", "began")
			if of.to == "" {
				b.want(reply, "1")
				b.want(said, "0", "the message")
				b.want(b.must("EXISTS", one), "0", "EXISTS")
				return
			}
			b.want(reply, given(1))
			b.want(said, "72 1", "the messages")
			left := number(t, b.must("PTTL", one))
			if elapsed := time.Since(before).Milliseconds(); left > of.lease || left < of.lease-elapsed-2 {
				t.Errorf("the lock lasts for %d ms, want %d less %d at most", left, of.lease, elapsed)
			}
			if left > 0 {
				b.want(b.must("HEXISTS", one, of.to), "1", "the owner")
			}
		})
	}
}

// A fenced mutex is given without tokens: whoever it was given to asks for them, also if the counter was lost meanwhile.
// invariant: tokens-grow, claim-counts-from-its-acquire
func TestClaimsOfFencedMutexes(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		acquire := func(b *box, owner string) int64 {
			return number(t, b.eval(scripts.AcquireClaim, fencedClaimNames, 0, 64, 86400000, owner, 30_000, 72))
		}
		passed := func(t *testing.T) (b2 *box, first int64) {
			b := b.fresh(t)
			heard := b.listen(channel)
			first = acquire(b, "me:1")
			if reply := scripts.Reply(acquire(b, "you:2")); !reply.Claimed() {
				t.Fatalf("you are answered %d, want a claim", reply)
			}
			b.want(b.eval(scripts.ReleaseClaim, fencedClaimNames[:2], "PUBLISH", "me:1", channel, 0), given(1))
			b.want(b.said(channel, heard), "72 1", "the messages")
			b.stands(one, "you:2=1")
			b.want(b.must("GET", counter), fmt.Sprint(first), "the counter")
			return b, first
		}
		t.Run("whoever it was given to asks for the tokens", func(t *testing.T) {
			b, first := passed(t)
			if token := acquire(b, "you:2"); token < first+64 {
				t.Errorf("the tokens end at %d, want 64 more than %d at least", token, first)
			}
			b.lasts(one, 30*time.Second)
			b.lasts(counter, 24*time.Hour)
		})
		for name, last := range map[string][]string{
			"a counter of another type":                   {"RPUSH", counter, "x"},
			"a counter that could not be counted exactly": {"SET", counter, "9007199254740928"},
		} {
			t.Run(name, func(t *testing.T) {
				b, _ := passed(t)
				b.must("DEL", counter)
				b.must(last...)
				if reply := scripts.Reply(acquire(b, "you:2")); reply.Fault() == scripts.None {
					t.Errorf("you are answered %d, want a fault", reply)
				}
				b.stands(one, "you:2=1")
				b.lasts(one, 2*time.Second)
			})
		}
	})
}

// claimsOf is the claims of so many engines.
func claimsOf(n int) (fields []string) {
	for i := range n {
		fields = append(fields, fmt.Sprint("engine", i), fmt.Sprintf("engine%d:1 70 %d 1", i, frozenNow+1000))
	}
	return fields
}

// Names that share a channel share no claims: what is given to one would be taken for the other.
func TestClaimsOfAliasesAreApart(t *testing.T) {
	if a, b := scripts.ClaimsKey("a"), scripts.ClaimsKey("{a}"); a == b {
		t.Errorf("both have %s", a)
	}
}

// A late copy of a release takes no claim away that a later owner of its engine has left.
// invariant: released-owner-is-dead
func TestAReleaseLeavesTheClaimOfALaterOwner(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		claimed(standing("java:1", "1"), "me:2")(b)
		b.want(b.eval(scripts.ReleaseClaim, claimNames[:2], "PUBLISH", "me:1", nobody, 0), "-1", "the release")
		b.want(b.must("HEXISTS", claimNames[1], "me"), "1", "the claim")
		b.want(b.eval(scripts.ReleaseClaim, claimNames[:2], "PUBLISH", "me:2", nobody, 0), "-1", "the release of that owner")
		b.want(b.must("HEXISTS", claimNames[1], "me"), "0", "its claim")
	})
}
