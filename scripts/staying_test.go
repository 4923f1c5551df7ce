package scripts_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Names that stay taken without a hold, and who waits for them.

func TestDetach(t *testing.T) {
	detach := func(b *box, keys []string, owner string, lease time.Duration, channel string) string {
		return b.eval(scripts.Detach, keys, "PUBLISH", owner, owner+":detached", lease, channel)
	}
	onBoth(t, func(t *testing.T, b *box) {
		b.run(t, "passes the lock to one that nobody renews, for a lease of its own, longer or shorter", func(t *testing.T, b *box) {
			for _, lease := range []time.Duration{5 * time.Minute, twoHour} {
				b.must("DEL", one)
				b.eval(scripts.Acquire, names, 0, "me:1", hour)
				b.want(detach(b, unfenced, "me:1", lease, nobody), "0")
				b.stands(one, "me:1:detached=1")
				b.lasts(one, lease)
			}
			b.want(b.eval(scripts.Renew, names, "me:1", hour), "-1", "renew")
			b.want(b.eval(scripts.Release, unfenced, "PUBLISH", "me:1", nobody), "-1", "release")
			b.want(b.eval(scripts.Release, unfenced, "PUBLISH", "me:1:detached", nobody), "0", "release of what is detached")
		})
		b.run(t, "asked twice changes nothing, and wakes twice", func(t *testing.T, b *box) {
			heard := b.listen(channel)
			b.eval(scripts.Acquire, names, 0, "me:1", hour)
			b.want(detach(b, unfenced, "me:1", 5*time.Minute, channel), "1")
			b.want(detach(b, unfenced, "me:1", twoHour, channel), "1")
			b.lasts(one, 5*time.Minute)
			b.want(b.said(channel, heard), "0 0", "the messages")
		})
		b.run(t, "where nobody listens says nothing", func(t *testing.T, b *box) {
			b.eval(scripts.Acquire, names, 0, "me:1", hour)
			heard := b.listen("")
			b.want(detach(b, unfenced, "me:1", hour, ""), "0")
			b.want(b.said("", heard), "", "the channel")
		})
		b.run(t, "of a fair lock wakes the first of its queue", func(t *testing.T, b *box) {
			first, second := b.listen(channel+":java:1"), b.listen(channel+":java:2")
			b.eval(scripts.Acquire, names, 0, "me:1", hour)
			b.want(detach(b, fairKeys[:2], "me:1", hour, channel), "0", "when nobody waits")
			b.must("RPUSH", fairKeys[1], "java:1", "java:2")
			b.want(detach(b, fairKeys[:2], "me:1", hour, channel), "1")
			b.want(b.said(channel+":java:1", first), "0", "the message")
			b.want(b.said(channel+":java:2", second), "", "the channel of the second")
		})
		b.run(t, "of what is lost, or another owner's, is not mine and changes nothing", func(t *testing.T, b *box) {
			b.want(detach(b, unfenced, "me:1", hour, channel), "-1")
			b.want(b.must("EXISTS", one), "0", "EXISTS")
			b.eval(scripts.Acquire, names, 0, "java:1", hour)
			b.want(detach(b, unfenced, "me:1", twoHour, channel), "-1")
			b.stands(one, "java:1=1")
			b.lasts(one, hour)
		})
		b.run(t, "of many names answers each", func(t *testing.T, b *box) {
			b.listen(channel)
			b.eval(scripts.Acquire, []string{one, two}, 0, "me:1", "me:2", hour)
			b.want(b.eval(scripts.Detach, []string{one, one, two, two, three, three}, "PUBLISH", "me:1", "me:1:detached", hour, channel,
				"me:2", "me:2:detached", twoHour, nobody, "me:3", "me:3:detached", hour, channel), "[1 0 -1]")
			b.stands(two, "me:2:detached=1")
			b.lasts(two, twoHour)
		})
	})
}

func TestAdopt(t *testing.T) {
	adopt := func(b *box, old, fresh string, lease time.Duration) string {
		return b.eval(scripts.Adopt, unfenced, 0, 64, 0, old, fresh, lease)
	}
	onBoth(t, func(t *testing.T, b *box) {
		b.run(t, "puts a fresh owner with a count of one in place of any, with its own lease", func(t *testing.T, b *box) {
			b.must("HSET", one, "java:1", "3")
			b.want(adopt(b, "java:1", "me:1", 5*time.Minute), "1")
			b.stands(one, "me:1=1")
			b.lasts(one, 5*time.Minute)
			b.want(adopt(b, "me:1", "me:2", twoHour), "1")
			b.lasts(one, twoHour)
		})
		b.run(t, "asked twice adopts once, and does not lower the TTL", func(t *testing.T, b *box) {
			b.must("HSET", one, "java:1", "3")
			for _, lease := range []time.Duration{hour, twoHour, hour} {
				b.want(adopt(b, "java:1", "me:1", lease), "1")
			}
			b.stands(one, "me:1=1")
			b.lasts(one, twoHour)
		})
		b.run(t, "of several one gets it", func(t *testing.T, b *box) {
			b.must("HSET", one, "java:1", "1")
			b.want(adopt(b, "java:1", "me:1", hour), "1")
			b.want(adopt(b, "java:1", "me:2", hour), "-1")
			b.stands(one, "me:1=1")
		})
		b.run(t, "of what is free or another owner's is not mine, gives no token, and changes nothing", func(t *testing.T, b *box) {
			fenced := func() string {
				return b.eval(scripts.Adopt, []string{one, counter}, 0, 64, 0, "java:1", "me:1", hour)
			}
			b.want(fenced(), "-1")
			b.must("HSET", one, "java:2", "1")
			b.want(fenced(), "-1")
			b.stands(one, "java:2=1")
			b.want(b.must("PTTL", one), "-1", "PTTL")
			b.want(b.must("EXISTS", counter), "0", "EXISTS of the counter")
		})
		b.run(t, "of a fenced lock gives the last token of a fresh block, also when it is asked twice", func(t *testing.T, b *box) {
			keys := []string{one, counter}
			last := number(t, b.eval(scripts.AcquireFenced, keys, 0, 64, 0, "me:1", hour))
			for _, owners := range [][2]string{{"me:1", "me:2"}, {"me:1", "me:2"}, {"me:2", "me:3"}} {
				token := number(t, b.eval(scripts.Adopt, keys, 0, 64, 0, owners[0], owners[1], hour))
				if token < last+64 {
					t.Errorf("the token %d follows %d", token, last)
				}
				last = token
			}
			b.want(b.must("PTTL", counter), "-1", "PTTL of a counter that is kept")
			b.eval(scripts.Adopt, keys, 0, 64, hour, "me:3", "me:4", hour)
			b.lasts(counter, hour)
		})
		b.run(t, "gives no token that is not exact, and takes nothing then", func(t *testing.T, b *box) {
			b.must("HSET", one, "java:1", "1")
			b.must("SET", counter, "9007199254740991")
			b.want(b.eval(scripts.Adopt, []string{one, counter}, 0, 64, 0, "java:1", "me:1", hour), fault(scripts.OutOfRange))
			b.stands(one, "java:1=1")
		})
		b.run(t, "of many names answers each", func(t *testing.T, b *box) {
			b.must("HSET", one, "java:1", "1")
			b.must("HSET", two, "mode", "read", "java:2", "1")
			b.want(b.eval(scripts.Adopt, []string{one, one, two, two, three, three}, 0, 64, 0,
				"java:1", "me:1", hour, "java:2", "me:2", hour, "java:3", "me:3", hour), "[1 "+fault(scripts.Fault(21))+" -1]")
			b.stands(two, "java:2=1", "mode=read")
		})
	})
}

func TestCountWaiters(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		fair := []string{two, scripts.FairQueue(two)}
		count := func(keys []string, channel string) string {
			return b.eval(scripts.CountWaiters, keys, "PUBLISH", channel)
		}
		b.want(count(unfenced, channel), "0", "with nobody")
		b.want(count(fair, ""), "0", "with an empty queue")
		b.listen(channel)
		b.must("RPUSH", fair[1], "java:1", "java:2")
		b.want(count(unfenced, channel), "1", "with a subscriber")
		b.want(count(fair, ""), waiting(0, 2), "with a queue")
		b.want(b.eval(scripts.CountWaiters, append(unfenced, fair...), "PUBLISH", channel, ""), "[1 "+waiting(0, 2)+"]", "both")
		b.must("DEL", fair[1])
		b.must("SET", fair[1], "x")
		b.want(count(fair, ""), fault(scripts.Fault(17)), "with another type for a queue")
	})
}
