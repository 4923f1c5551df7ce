package scripts_test

import (
	"context"
	"testing"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// Who listens both ways is one listener; who listens one way besides is another.
func TestListenersOfBothWaysAreCountedOnce(t *testing.T) {
	redis := redistest.Start(t)
	channel := scripts.LockChannel("stock:7")
	listen := func(plain, sharded bool) {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redis.Addr()}, DisableCache: true, ForceSingleClient: true})
		if err != nil {
			t.Fatal(err)
		}
		conn, release := client.Dedicate()
		t.Cleanup(func() { conn.Close(); release(); client.Close() })
		conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(rueidis.PubSubMessage) {}})
		if plain {
			err = conn.Do(context.Background(), conn.B().Subscribe().Channel(channel).Build()).Error()
		}
		if sharded && err == nil {
			err = conn.Do(context.Background(), conn.B().Ssubscribe().Channel(channel).Build()).Error()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(who string, n int64) {
		t.Helper()
		redis.MustDo("HSET", "stock:7", "me:1", "1")
		if got := redis.MustDo("EVAL", scripts.Confirm.Text, "2", "stock:7", "stock:7", "BOTH", "me:1", "30000", channel).Int; got != n {
			t.Errorf("%s: confirm counts %d, want %d", who, got, n)
		}
		if got := redis.MustDo("EVAL", scripts.CountWaiters.Text, "2", "stock:7", "stock:7", "BOTH", channel).Int; got != n {
			t.Errorf("%s: count_waiters counts %d, want %d", who, got, n)
		}
		if got := redis.MustDo("EVAL", scripts.Release.Text, "2", "stock:7", "stock:7", "BOTH", "me:1", channel).Int; got != n {
			t.Errorf("%s: release wakes %d, want %d", who, got, n)
		}
	}
	oneWay := func(who string, plain, sharded int64) {
		t.Helper()
		for how, n := range map[string]int64{"PUBLISH": plain, "SPUBLISH": sharded} {
			redis.MustDo("HSET", "stock:7", "me:1", "1")
			if got := redis.MustDo("EVAL", scripts.Confirm.Text, "2", "stock:7", "stock:7", how, "me:1", "30000", channel).Int; got != n {
				t.Errorf("%s: confirm counts %d by %s, want %d", who, got, how, n)
			}
			if got := redis.MustDo("EVAL", scripts.CountWaiters.Text, "2", "stock:7", "stock:7", how, channel).Int; got != n {
				t.Errorf("%s: count_waiters counts %d by %s, want %d", who, got, how, n)
			}
			if got := redis.MustDo("EVAL", scripts.Release.Text, "2", "stock:7", "stock:7", how, "me:1", channel).Int; got != n {
				t.Errorf("%s: release wakes %d by %s, want %d", who, got, how, n)
			}
		}
	}
	want("nobody", 0)
	oneWay("nobody", 0, 0)
	listen(true, true)
	want("one of ours", 1)
	listen(true, false)
	want("one of ours and a plain one", 2)
	listen(false, true)
	want("one of ours, a plain and a sharded one", 2)
	listen(false, true)
	oneWay("two plain and three sharded ones", 2, 3)
}

// Who may publish only one way wakes those who listen that way, and is told that others may have heard nothing.
func TestOneOfTwoWaysIsRefused(t *testing.T) {
	b := realBox(t)
	for refused, heardSharded := range map[string]bool{"-publish": true, "-spublish": false} {
		b.run(t, refused, func(t *testing.T, b *box) {
			standing("me:1", "1")(b)
			plain, sharded := b.listen(channel), b.listenSharded(channel)
			user := b.limited(t, "&*", "~*", "+@all", refused)
			b.want(user.eval(scripts.Release, []string{one, one}, "BOTH", "me:1", channel), "-2", "the release")
			b.must("SPUBLISH", channel, "the end")
			wantPlain, wantSharded := "0", "the end"
			if heardSharded {
				wantPlain, wantSharded = "", "0"
			}
			b.want(b.said(channel, plain), wantPlain, "the channel")
			b.want(<-sharded, wantSharded, "the sharded channel")
		})
	}
}
