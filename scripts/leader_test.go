package scripts_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// electing are the keys of an election.
var electing = []string{one, scripts.LeaderKey(one)}

// since is when a leader's note was written, as long as a clock stands still.
var since = strconv.Itoa(frozenNow)

// notes has an owner note that it leads; identity "": that it leads no more.
func notes(b *box, owner, term, identity string) string {
	b.Helper()
	return b.eval(frozen(scripts.Leader), electing, "PUBLISH", scripts.LeaderChannel(one), owner, term, identity)
}

// wantLeader fails the test unless this is who leads; "0": nobody.
func (b *box) wantLeader(want string) {
	b.Helper()
	b.want(b.eval(scripts.Leader, electing), "["+want+"]", "who leads:")
}

func TestLeader(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		t.Run("nobody", func(t *testing.T) { b.fresh(t).wantLeader("0") })
		b.run(t, "who has the lock", func(t *testing.T, b *box) {
			standing("me:1", "1")(b)
			b.wantLeader("0") // it has not said so yet
			b.want(notes(b, "me:1", "7", "red"), "[0 7 red "+since+"]", "note")
			b.wantLeader("0 7 red " + since)
			b.want(notes(b, "me:1", "7", "red"), "[0 7 red "+since+"]", "note again")
		})
		b.run(t, "who is called as the end of a wide call is", func(t *testing.T, b *box) {
			standing("me:1", "1")(b)
			b.want(notes(b, "me:1", "7", scripts.KeysBehind), "[0 7 KEYS "+since+"]", "note")
		})
		b.run(t, "a note again keeps its time", func(t *testing.T, b *box) {
			standing("me:1", "1")(b)
			notes(b, "me:1", "7", "red")
			b.want(b.eval(scripts.Leader, electing, "PUBLISH", "c", "me:1", "7", "red"), "[0 7 red "+since+"]", "note again")
		})
		b.run(t, "nobody who has no lock", func(t *testing.T, b *box) {
			b.want(notes(b, "me:1", "7", "red"), "[0]", "note of a free lock")
			standing("you:1", "1")(b)
			b.want(notes(b, "me:1", "7", "red"), "[0]", "note of another's lock")
			b.want(b.must("EXISTS", electing[1]), "0", "the note")
			notes(b, "you:1", "6", "blue")
			b.want(notes(b, "me:1", "7", "red"), "[0 6 blue "+since+"]", "a late note")
			b.wantLeader("0 6 blue " + since)
		})
		b.run(t, "nobody once the lock is free", func(t *testing.T, b *box) {
			standing("me:1", "1")(b)
			notes(b, "me:1", "7", "red")
			b.must("DEL", one)
			b.wantLeader("0")
			standing("you:1", "1")(b)
			b.wantLeader("0")
			b.want(notes(b, "you:1", "1", "blue"), "[0 1 blue "+since+"]", "a term that is lower, after loss of data")
		})
		b.run(t, "the later of two terms of one owner", func(t *testing.T, b *box) {
			standing("me:1", "1")(b)
			notes(b, "me:1", "9", "red")
			b.want(notes(b, "me:1", "10", "blue"), "[0 10 blue "+since+"]", "the next term")
			b.want(notes(b, "me:1", "9", "red"), "[0 10 blue "+since+"]", "a late note")
			b.want(notes(b, "me:1", "9", ""), "[0 10 blue "+since+"]", "a late end")
			b.wantLeader("0 10 blue " + since)
		})
		b.run(t, "nobody when the term is over", func(t *testing.T, b *box) {
			standing("me:1", "1")(b)
			notes(b, "me:1", "9007199254740991", "red")
			b.want(notes(b, "me:1", "9007199254740991", ""), "[0]", "the end")
			b.want(notes(b, "me:1", "9007199254740991", ""), "[0]", "the end again")
			b.wantLeader("0")
			b.want(b.must("EXISTS", electing[1]), "0", "the note")
		})
		b.run(t, "nobody when the note names no owner", func(t *testing.T, b *box) {
			standing("me:1", "1")(b)
			b.must("HSET", electing[1], "term", "7", "identity", "red", "since", "1")
			b.wantLeader("0")
		})
		b.run(t, "a key of another type", func(t *testing.T, b *box) {
			b.must("SET", electing[1], "x")
			foreign := "[" + fault(scripts.Fault(17)) + "]"
			b.want(b.eval(scripts.Leader, electing), foreign, "who leads")
			b.want(notes(b, "me:1", "7", "red"), foreign, "note")
			b.must("DEL", electing[1])
			b.must("SET", one, "x")
			b.want(notes(b, "me:1", "7", "red"), foreign, "note beside a string")
			b.must("DEL", one)
			standing("me:1", "1")(b)
			notes(b, "me:1", "7", "red")
			b.must("SET", one, "x")
			b.want(b.eval(scripts.Leader, electing), foreign, "who leads beside a string")
		})
	})
}

// What Redis refuses is told.
func TestLeaderRefused(t *testing.T) {
	b := realBox(t)
	for _, command := range []string{"HMGET", "HEXISTS", "HSET", "DEL"} {
		b := b.fresh(t)
		standing("me:1", "1")(b)
		identity := "red"
		if command == "DEL" {
			notes(b, "me:1", "7", "red")
			identity = ""
		}
		refused := answering(scripts.Leader, command, "{ err = "+strconv.Quote(refusals[scripts.OutOfMem])+" }")
		b.want(b.eval(refused, electing, "PUBLISH", "c", "me:1", "7", identity), "["+fault(scripts.OutOfMem)+"]", "without ", command)
	}
}

// Who listens is told of each new leader, once, by the kind of channel that is asked for.
func TestLeaderIsAnnounced(t *testing.T) {
	b := realBox(t)
	heard := b.listen(scripts.LeaderChannel(one))
	standing("me:1", "1")(b)
	notes(b, "me:1", "7", "red")
	notes(b, "me:1", "7", "red")
	notes(b, "me:1", "7", "")
	b.eval(scripts.Leader, electing, "SPUBLISH", scripts.LeaderChannel(one), "me:1", "8", "red")
	notes(b, "me:1", "9", "red")
	for _, want := range []string{"7", "9"} {
		select {
		case got := <-heard:
			b.want(got, want, "heard")
		case <-time.After(20 * time.Second):
			t.Fatal("nothing is heard")
		}
	}
}

// All keys of an election share a hash slot.
func TestLeaderSharesTheHashSlot(t *testing.T) {
	for _, name := range []string{"stock:7", "{order}:7", "a:{order}"} {
		for _, derived := range []string{scripts.LeaderKey(name), scripts.LeaderChannel(name), scripts.TokenKey(name), scripts.SuffixName(name, "leading")} {
			if scripts.HashSlot(derived) != scripts.HashSlot(name) {
				t.Errorf("%s is in another hash slot than %s", derived, name)
			}
		}
		if _, is := scripts.Derived(scripts.LeaderKey(name)); !is {
			t.Errorf("a lock may have the name %s", scripts.LeaderKey(name))
		}
		if _, is := scripts.Derived(scripts.SuffixName(name, "leading")); is {
			t.Errorf("no lock may have the name %s", scripts.SuffixName(name, "leading"))
		}
	}
}
