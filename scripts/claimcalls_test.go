package scripts_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

// looking is a script for which time stands still, which answers besides what stands then under some of its hashes: what is given to
// a claim ends soon.
func looking(s scripts.Script, keys ...int) scripts.Script {
	look := "reply = { reply"
	for _, key := range keys {
		look += fmt.Sprintf(", redis.call('HGETALL', KEYS[%d])", key)
	}
	return wrapped(frozen(s), "", "", look+" }")
}

// standingClaim is one with all of its time, as text in a hash.
func standingClaim(owner string, code int) string {
	return fmt.Sprintf("%s %d %d 5", owner, code, frozenNow+2000)
}

// invariant: released-owner-is-dead
func TestOwnClaims(t *testing.T) {
	b := realBox(t)
	release := func(b *box, owner string) string {
		return b.eval(looking(scripts.ReleaseClaim, 1), claimNames[:2], "PUBLISH", owner, channel, 0)
	}
	t.Run("a claim ends when its owner is found to have the lock", func(t *testing.T) {
		b := b.fresh(t)
		standing("me:1", "1")(b)
		b.must("HSET", claimNames[1], "me", standingClaim("me:1", 72))
		b.want(b.eval(frozen(scripts.AcquireClaim), claimNames, 0, 64, 0, "me:1", hour, 72), "1")
		b.want(b.must("EXISTS", claimNames[1]), "0", "EXISTS of the claims")
	})
	t.Run("a release ends no claim of another owner of the same engine", func(t *testing.T) {
		b := b.fresh(t)
		standing("me:1", "1")(b)
		b.listen(channel)
		b.must("HSET", claimNames[1], "me", standingClaim("me:2", 72))
		b.want(release(b, "me:1"), "["+given(1)+" [me:2 1]]")
	})
	t.Run("who is forced off may be of no engine", func(t *testing.T) {
		b := b.fresh(t)
		standing("somebody", "1")(b)
		b.want(release(b, "somebody"), "[0 []]")
	})
	t.Run("what somebody else has, too, is given to nobody", func(t *testing.T) {
		b := b.fresh(t)
		standing("me:1", "1", "java:1", "1")(b)
		b.listen(channel)
		b.must("HSET", claimNames[1], "you", standingClaim("you:2", 72))
		b.want(release(b, "me:1"), "[1 [java:1 1]]")
	})
}

// What cannot be given is freed: the claim stands as it was, unless its owner may have heard of the lock.
// invariant: reply-says-what-redis-holds
func TestWhatCannotBeGivenIsFreed(t *testing.T) {
	b := realBox(t)
	stands := "you " + standingClaim("you:2", 72)
	began := fmt.Sprint("began ", frozenNow)
	publish := b.client.B().Spublish().Channel("nobody").Message("hears this").Build()
	hasSharded := b.client.Do(context.Background(), publish).Error() == nil // Redis 6.2 has no sharded channels
	for name, of := range map[string]struct {
		command string // of which Redis answers this
		answer  string // in Lua
		how     string // the message is published
		reply   string
		lock    string
		claims  string
		heard   string
	}{
		"the owner is refused":             {"HSET", refusal(scripts.OutOfMem), "PUBLISH", "1", "", stands, "0"},
		"the TTL is refused":               {"PEXPIRE", refusal(scripts.NoReplicas), "PUBLISH", "1", "", stands, "0"},
		"the message is refused":           {"PUBLISH", refusal(scripts.NoPerm), "PUBLISH", "-2", "", "", ""},
		"the message of a slot is refused": {"SPUBLISH", refusal(scripts.NoPerm), "SPUBLISH", "-2", "", "", ""},
		"nobody hears the message":         {"PUBLISH", "0", "PUBLISH", given(0), "you:2 1", began, ""},
		"one of two messages is refused":   {"SPUBLISH", refusal(scripts.NoPerm), "BOTH", given(0), "you:2 1", began, "72 1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.fresh(t)
			standing("me:1", "1")(b)
			b.must("HSET", claimNames[1], "you", standingClaim("you:2", 72))
			plain, sharded := b.listen(channel), (<-chan string)(nil)
			if hasSharded {
				sharded = b.listenSharded(channel)
			}
			got := b.eval(answering(looking(scripts.ReleaseClaim, 1, 2), of.command, of.answer), claimNames[:2], of.how, "me:1", channel, 0)
			b.want(got, "["+of.reply+" ["+of.lock+"] ["+of.claims+"]]")
			b.want(b.said(channel, plain), of.heard, "the channel")
			if hasSharded {
				b.must("SPUBLISH", channel, "the end")
				b.want(<-sharded, "the end", "the sharded channel")
			}
		})
	}
}

// Who may not look whether there is room for a claim has none, and is told that the lock is taken.
// invariant: reply-says-what-redis-holds
func TestNoClaimWithoutALookForRoom(t *testing.T) {
	b := realBox(t)
	for command, claims := range map[string]int{"HLEN": 1, "HGETALL": 33} {
		b := b.fresh(t)
		standing("me:1", "1")(b)
		b.must(append([]string{"HSET", claimNames[1]}, claimsOf(claims)...)...)
		refused := answering(frozen(scripts.AcquireClaim), command, refusal(scripts.NoPerm))
		b.want(b.eval(refused, claimNames, 0, 64, 0, "you:2", hour, 72), fmt.Sprint(-frozenTTL-2), "without ", command)
		b.want(b.must("HEXISTS", claimNames[1], "you"), "0", "the claim")
	}
}

// Claims of engines that have died make room for another, and no others do.
func TestRoomForAClaim(t *testing.T) {
	b := realBox(t)
	other := func(ends int64) []string { return []string{"they", fmt.Sprintf("they:3 73 %d 5", ends)} }
	for name, of := range map[string]struct {
		living int
		more   []string
		room   bool
		kept   string // whether the last of them stands, then
	}{
		"what is no claim takes room":             {32, []string{"began", fmt.Sprint(frozenNow)}, false, "1"},
		"one that ends now goes":                  {32, other(frozenNow), true, "0"},
		"one that ends later stays":               {32, other(frozenNow + 1), false, "1"},
		"one with all of its time stays":          {32, other(frozenNow + 2000), false, "1"},
		"one of a clock that was put back goes":   {32, other(frozenNow + 2001), true, "0"},
		"one that goes makes room for one":        {33, other(frozenNow), false, "0"},
		"whose claim stands has its place":        {32, []string{"you", standingClaim("you:2", 72)}, true, "1"},
		"nobody goes while there is room for all": {31, other(frozenNow), true, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.fresh(t)
			standing("me:1", "1")(b)
			b.must(append([]string{"HSET", claimNames[1]}, append(claimsOf(of.living), of.more...)...)...)
			look := wrapped(frozen(scripts.AcquireClaim), "", "", "reply = { reply, redis.call('HEXISTS', KEYS[2], '"+of.more[0]+"') }")
			want := int64(-frozenTTL - 2)
			if of.room {
				want += -1 << 43
			}
			b.want(b.eval(look, claimNames, 0, 64, 0, "you:2", hour, 72), fmt.Sprintf("[%d %s]", want, of.kept))
		})
	}
}

// refusal is an error in Lua.
func refusal(why scripts.Fault) string { return "{ err = " + strconv.Quote(refusals[why]) + " }" }

// Each name of a call has its own claims.
func TestClaimsOfManyNames(t *testing.T) {
	b := realBox(t)
	claims := []string{scripts.ClaimsKey(one), scripts.ClaimsKey(two), scripts.ClaimsKey(three)}
	keys := []string{one, claims[0], one, two, claims[1], two, three, claims[2], three}
	standing("me:1", "1")(b)
	b.must("HSET", claims[1], "you", standingClaim("you:3", 73)) // ends with the grant
	b.must("HSET", three, "they:3", "1")
	left := func(owner string, code int) string {
		return fmt.Sprintf("you %s %d %d %d", owner, code, frozenNow+2000, int64(frozenMicros))
	}
	b.want(b.eval(looking(scripts.AcquireClaim, 2, 5, 8), keys, 0, 64, 0, "you:2", 30_000, 72, "you:3", twoHour, 73, "you:4", 30_000, 74),
		fmt.Sprintf("[[%d 1 %d] [%s] [] [%s]]", int64(-1<<43-frozenTTL-2), int64(-1<<43-1), left("you:2", 72), left("you:4", 74)))
	b.stands(two, "you:3=1")
	b.lasts(two, twoHour)

	var heard []<-chan string
	for i, name := range []string{one, two, three} {
		heard = append(heard, b.listen(scripts.LockChannel(name)))
		b.must("DEL", claims[i])
		b.must("HSET", claims[i], "you", standingClaim(fmt.Sprint("you:", 5+i), 75+i))
	}
	b.want(b.eval(looking(scripts.ReleaseClaim, 1, 3, 5), []string{one, claims[0], two, claims[1], three, claims[2]}, "PUBLISH", "me:1", channel, 0,
		"you:3", scripts.LockChannel(two), 1, "they:3", scripts.LockChannel(three), 0), "[["+given(1)+" 1 "+given(1)+"] [you:5 1] [] [you:7 1]]")
	for i, name := range []string{one, two, three} {
		b.want(b.said(scripts.LockChannel(name), heard[i]), []string{"75 1", "0", "77 1"}[i], "the messages of ", name)
	}
}
