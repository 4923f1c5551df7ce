package scripts_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// invariant: hold-within-tenure
func TestAcquire(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		b.run(t, "takes a free name: a hash of owner and count, with a TTL, as Redisson's", func(t *testing.T, b *box) {
			b.want(b.eval(scripts.Acquire, []string{one}, 0, "me:1", hour), "1")
			b.stands(one, "me:1=1")
			b.lasts(one, hour)
		})
		b.run(t, "asked twice takes once", func(t *testing.T, b *box) {
			for range 2 {
				b.want(b.eval(scripts.Acquire, []string{one}, 0, "me:1", hour), "1")
			}
			b.stands(one, "me:1=1")
		})
		b.run(t, "asked again raises a TTL and never lowers it", func(t *testing.T, b *box) {
			for _, lease := range []time.Duration{hour, twoHour, hour} {
				b.want(b.eval(scripts.Acquire, []string{one}, 0, "me:1", lease), "1")
			}
			b.lasts(one, twoHour)
		})
		b.run(t, "of another owner's name tells what its lease has left", func(t *testing.T, b *box) {
			b.eval(scripts.Acquire, []string{one}, 0, "java:1", hour)
			reply, _ := strconv.ParseInt(b.eval(scripts.Acquire, []string{one}, 0, "me:1", time.Minute), 10, 64)
			ttl, held := scripts.Reply(reply).Held()
			if !held || ttl > hour || ttl < hour-time.Minute {
				t.Errorf("held %t for %v, want an hour", held, ttl)
			}
			b.stands(one, "java:1=1")
		})
		b.run(t, "of a name without TTL says so", func(t *testing.T, b *box) {
			b.must("HSET", one, "java:1", "3")
			b.want(b.eval(scripts.Acquire, []string{one}, 0, "me:1", hour), "-1")
		})
		b.run(t, "before its notAfter takes, after it does nothing and tells the server's time", func(t *testing.T, b *box) {
			now := b.serverMillis()
			b.want(b.eval(scripts.Acquire, []string{one}, now+60_000, "me:1", hour), "1")
			for _, names := range [][]string{{one}, {one, two}} { // also for an owner that has it
				reply, _ := strconv.ParseInt(b.eval(scripts.Acquire, names, now-1, "me:1", "me:2", twoHour), 10, 64)
				millis, late := scripts.Reply(reply).Late()
				if !late || millis < now || millis > b.serverMillis() {
					t.Errorf("late %t at %d, want between %d and now", late, millis, now)
				}
			}
			b.lasts(one, hour)
			b.want(b.must("EXISTS", two), "0")
		})
		b.run(t, "takes many names in one call", func(t *testing.T, b *box) {
			b.want(b.eval(scripts.Acquire, []string{one, two, three}, 0, "me:1", "me:2", "me:3", hour, twoHour, hour), "1")
			b.stands(one, "me:1=1")
			b.stands(two, "me:2=1")
			b.stands(three, "me:3=1")
			b.lasts(two, twoHour)
		})
		b.run(t, "answers each name when they fared differently", func(t *testing.T, b *box) {
			b.must("HSET", two, "java:1", "1")
			b.must("SET", three, "x")
			got := b.eval(scripts.Acquire, []string{one, two, three}, 0, "me:1", "me:2", "me:3", hour)
			b.want(got, "[1 -1 "+fault(17)+"]")
			b.stands(two, "java:1=1")
		})
		b.run(t, "with a lease that is none takes nothing", func(t *testing.T, b *box) {
			b.want(b.eval(scripts.Acquire, []string{one}, 0, "me:1", "soon"), fault(scripts.Other))
			b.want(b.must("EXISTS", one), "0", "EXISTS")
		})
	})
}

func TestRelease(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		b.run(t, "frees, and tells who listens: 0 on Redisson's channel", func(t *testing.T, b *box) {
			b.want(channel, "redisson_lock__channel:{stock:7}", "the channel")
			heard := b.listen(channel)
			b.eval(scripts.Acquire, []string{one}, 0, "me:1", hour)
			b.want(b.eval(scripts.Release, []string{one, one}, "PUBLISH", "me:1", channel), "1")
			b.want(b.must("EXISTS", one), "0", "EXISTS")
			b.want(b.said(channel, heard), "0", "the message")
		})
		b.run(t, "that nobody hears wakes nobody", func(t *testing.T, b *box) {
			b.eval(scripts.Acquire, []string{one}, 0, "me:1", hour)
			b.want(b.eval(scripts.Release, []string{one, one}, "PUBLISH", "me:1", scripts.LockChannel("nobody")), "0")
		})
		b.run(t, "of a spin lock says nothing", func(t *testing.T, b *box) {
			heard := b.listen(channel)
			b.eval(scripts.Acquire, []string{one}, 0, "me:1", hour)
			b.want(b.eval(scripts.Release, []string{one, one}, "NONE", "me:1", channel), "0")
			b.want(b.said(channel, heard), "", "the channel")
		})
		b.run(t, "of what is lost, or another owner's, is not mine and changes nothing", func(t *testing.T, b *box) {
			b.want(b.eval(scripts.Release, []string{one, one}, "PUBLISH", "me:1", channel), "-1")
			b.eval(scripts.Acquire, []string{one}, 0, "java:1", hour)
			b.want(b.eval(scripts.Release, []string{one, one}, "PUBLISH", "me:1", channel), "-1")
			b.stands(one, "java:1=1")
		})
		b.run(t, "of many names answers each", func(t *testing.T, b *box) {
			heard := b.listen(scripts.LockChannel(two))
			b.eval(scripts.Acquire, []string{one, two}, 0, "me:1", "me:2", hour)
			got := b.eval(scripts.Release, []string{one, one, two, two, three, three}, "PUBLISH",
				"me:1", scripts.LockChannel("nobody"), "me:2", scripts.LockChannel(two), "me:3", channel)
			b.want(got, "[0 1 -1]")
			b.want(b.said(scripts.LockChannel(two), heard), "0", "the message")
		})
		b.run(t, "by force frees a stranger, whatever it counts", func(t *testing.T, b *box) {
			b.must("HSET", one, "java:1", "3")
			b.want(b.eval(scripts.Release, []string{one, one}, "PUBLISH", "java:1", scripts.LockChannel("nobody")), "0")
			b.want(b.must("EXISTS", one), "0", "EXISTS")
		})
	})
}

// invariant: hold-within-tenure
func TestRenew(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		b.run(t, "raises the TTL of an owner, never lowers it", func(t *testing.T, b *box) {
			b.eval(scripts.Acquire, []string{one}, 0, "me:1", time.Minute)
			for _, lease := range []time.Duration{hour, twoHour, time.Millisecond} {
				b.want(b.eval(scripts.Renew, []string{one}, "me:1", lease), "1")
			}
			b.lasts(one, twoHour)
		})
		b.run(t, "gives a TTL to what has none", func(t *testing.T, b *box) {
			b.must("HSET", one, "me:1", "1")
			b.want(b.eval(scripts.Renew, []string{one}, "me:1", hour), "1")
			b.lasts(one, hour)
		})
		b.run(t, "of what is lost, or another owner's, is not mine and changes nothing", func(t *testing.T, b *box) {
			b.want(b.eval(scripts.Renew, []string{one}, "me:1", hour), "-1")
			b.eval(scripts.Acquire, []string{one}, 0, "java:1", hour)
			b.want(b.eval(scripts.Renew, []string{one}, "me:1", twoHour), "-1")
			b.lasts(one, hour)
		})
		b.run(t, "of many names answers each", func(t *testing.T, b *box) {
			b.eval(scripts.Acquire, []string{one, three}, 0, "me:1", "me:3", time.Minute)
			b.want(b.eval(scripts.Renew, []string{one, two, three}, "me:1", "me:2", "me:3", hour, hour, twoHour), "[1 -1 1]")
			b.lasts(one, hour)
			b.lasts(three, twoHour)
			b.want(b.eval(scripts.Renew, []string{one, three}, "me:1", "me:3", hour), "1")
		})
	})
}

func TestConfirm(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		b.run(t, "counts who listens, and renews", func(t *testing.T, b *box) {
			b.eval(scripts.Acquire, []string{one}, 0, "me:1", time.Minute)
			b.want(b.eval(scripts.Confirm, []string{one, one}, "PUBLISH", "me:1", hour, scripts.LockChannel("nobody")), "0")
			b.listen(channel)
			b.want(b.eval(scripts.Confirm, []string{one, one}, "PUBLISH", "me:1", time.Minute, channel), "1")
			b.lasts(one, hour)
		})
		b.run(t, "of what is lost, or another owner's, is not mine and changes nothing", func(t *testing.T, b *box) {
			b.want(b.eval(scripts.Confirm, []string{one, one}, "PUBLISH", "me:1", hour, channel), "-1")
			b.eval(scripts.Acquire, []string{one}, 0, "java:1", hour)
			b.want(b.eval(scripts.Confirm, []string{one, one}, "PUBLISH", "me:1", twoHour, channel), "-1")
			b.lasts(one, hour)
		})
		b.run(t, "of many names answers each", func(t *testing.T, b *box) {
			b.listen(scripts.LockChannel(two))
			b.eval(scripts.Acquire, []string{one, two}, 0, "me:1", "me:2", hour)
			got := b.eval(scripts.Confirm, []string{one, one, two, two, three, three}, "PUBLISH", "me:1", hour, scripts.LockChannel("nobody"),
				"me:2", hour, scripts.LockChannel(two), "me:3", hour, channel)
			b.want(got, "[0 1 -1]")
		})
	})
}

func TestInspect(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		b.run(t, "of a free name", func(t *testing.T, b *box) {
			b.want(b.eval(scripts.Inspect, []string{one}), "[0 -2 0]")
		})
		b.run(t, "of a held one, with and without TTL", func(t *testing.T, b *box) {
			b.must("HSET", one, "java:1", "3")
			b.want(b.eval(scripts.Inspect, []string{one}), "[0 -1 0 java:1 3]")
			b.must("PEXPIRE", one, "3600000")
			if got := b.eval(scripts.Inspect, []string{one}); !strings.HasSuffix(got, " 0 java:1 3]") || !strings.HasPrefix(got, "[0 3") {
				t.Errorf("answered %s", got)
			}
		})
		b.run(t, "tells the last fencing token where there is one", func(t *testing.T, b *box) {
			b.must("SET", two, "42")
			b.want(b.eval(scripts.Inspect, []string{one, two}), "[0 -2 42]")
			b.want(b.eval(scripts.Inspect, []string{one, three}), "[0 -2 0]")
			b.must("HSET", three, "not", "a counter")
			b.want(b.eval(scripts.Inspect, []string{one, three}), "[0 -2 0]")
		})
	})
}

// fresh is the box with nothing in it, for another test.
func (b *box) fresh(t *testing.T) *box {
	t.Helper()
	b.must("FLUSHALL")
	return &box{t, b.client, b.redis}
}

// run runs a part of a test on a box with nothing in it.
func (b *box) run(t *testing.T, name string, test func(t *testing.T, b *box)) {
	t.Run(name, func(t *testing.T) { test(t, b.fresh(t)) })
}

func (b *box) serverMillis() int64 {
	b.Helper()
	parts := strings.Fields(strings.Trim(b.must("TIME"), "[]"))
	seconds, _ := strconv.ParseInt(parts[0], 10, 64)
	micros, _ := strconv.ParseInt(parts[1], 10, 64)
	return seconds*1000 + micros/1000
}
