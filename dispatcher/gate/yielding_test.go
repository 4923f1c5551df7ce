package gate

import (
	"slices"
	"testing"
	"time"
)

// TestOthersListen: who else listens makes us yield, and nobody listening proves nothing.
// invariant: others-get-a-turn
func TestOthersListen(t *testing.T) {
	t.Run("a confirmation that finds others is the last of its stint", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 2)
		b := w.newProcess("B")
		w.redis.subscribe(stockChannel, b)
		a.age()
		holder.unlock()
		a.expect(Confirm).answer()
		a.expect(Release).answer()
		a.silent() // it yields
		next[0].wantWaiting()
		w.after(minYield)
		a.expect(Acquire).answer()
		next[0].wantAnswer(Granted)
		w.redis.unsubscribe(stockChannel, b)
		b.messages = nil
		w.settle()
	})
	t.Run("we are no others when we listen in both of Redis' name spaces", func(t *testing.T) {
		w := newWorld(t)
		w.redis.take(stock, "java:1", time.Minute)
		a := w.newProcess("A")
		a.cfg.Echo = 2
		holder, second, third := a.lock(), a.lock(), a.lock()
		a.expect(Acquire).answer()
		a.subscribe()
		a.expect(Acquire).answer()
		a.subscribe()
		w.redis.echo = 2 // a message comes by each, but the scripts count who listens in both once
		a.expect(Acquire).answer()
		w.redis.free(stock, "java:1")
		a.listen()
		a.expect(Acquire).answer()
		a.listen() // the same message, as it came by the other name space
		a.settleAll()
		a.age()
		holder.unlock()
		a.expect(Confirm).answer()
		second.wantAnswer(Granted)
		a.cfg.HandoffTime = 0
		second.unlock()
		a.expect(Release).answer()
		a.expect(Acquire).answer() // at once: there is nobody to yield to
		third.wantAnswer(Granted)
		w.settle()
	})
	t.Run("a message ends the yield", func(t *testing.T) {
		w := newWorld(t)
		a, _ := listeningTo(w)
		b := w.newProcess("B")
		w.redis.subscribe(stockChannel, b)
		second := a.lock()
		a.cfg.RTT = 100 * time.Millisecond
		w.redis.free(stock, "java:1")
		a.listen()
		a.expect(Acquire).answer()
		a.age()
		a.callers[0].unlock()
		a.expect(Confirm).answer()
		a.expect(Release).answer()
		a.listen() // our own
		a.silent()
		w.redis.take(stock, "java:2", time.Second)
		w.redis.free(stock, "java:2")
		a.listen()
		a.expect(Acquire).answer()
		second.wantAnswer(Granted)
		w.want(a.entry(stock).Machine.(*Lock).contest.rivals.yields == 0, "a yield that somebody took; it counts as in vain")
		w.redis.unsubscribe(stockChannel, b)
		b.messages = nil
		w.settle()
	})
	t.Run("after yields that nobody takes there are none for a while", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 9)
		b := w.newProcess("B")
		w.redis.subscribe(stockChannel, b)
		for _, c := range next[:yieldsInVain] {
			a.age()
			holder.unlock()
			a.expect(Confirm).answer()
			a.expect(Release).answer()
			a.silent()
			w.after(minYield << yieldsInVain)
			a.expect(Acquire).answer()
			c.wantAnswer(Granted)
			holder = c
		}
		a.age()
		holder.unlock()
		a.expect(Confirm).answer()
		next[yieldsInVain].wantAnswer(Granted)
		w.redis.unsubscribe(stockChannel, b)
		b.messages = nil
		w.settle()
	})
	t.Run("yields grow until one is long enough for who is far away", func(t *testing.T) {
		y, cfg := &yielding{}, &Config{}
		var lengths []time.Duration
		for now := time.Second; len(lengths) < 8; now += time.Millisecond {
			if length := y.pause(now, 1, cfg); length != 0 {
				lengths = append(lengths, length/time.Millisecond)
				now += length
				y.endYield(length < 60*time.Millisecond, now)
			}
		}
		if want := []time.Duration{2, 4, 8, 16, 32, 64, 32, 64}; !slices.Equal(lengths, want) {
			t.Errorf("yields of %v ms; want %v", lengths, want)
		}
	})
	t.Run("but take little more than a quarter of the time", func(t *testing.T) {
		y, cfg := &yielding{}, &Config{}
		var yielded, now Time
		for now = time.Second; now < time.Minute; now += time.Millisecond {
			length := y.pause(now, 1, cfg)
			yielded, now = yielded+length, now+length
			y.endYield(true, now)
		}
		if yielded > (now-time.Second)*3/10 {
			t.Errorf("%v of %v", yielded, now-time.Second)
		}
	})
	t.Run("a stint has an end even when nobody is heard", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 2*streakLimit)
		began := w.now
		for _, c := range next {
			a.age()
			holder.unlock()
			if a.outbox[0].Op == Release {
				break
			}
			a.expect(Confirm).answer()
			c.wantAnswer(Granted)
			holder = c
		}
		a.expect(Release)
		streak := w.now - began
		w.want(streak >= streakLimit*a.cfg.HandoffTime && streak <= (streakLimit+2)*a.cfg.HandoffTime, "a stint of %v; it was %v", streakLimit*a.cfg.HandoffTime, streak)
		w.settle()
	})
}
