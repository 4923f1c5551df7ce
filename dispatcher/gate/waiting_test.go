package gate

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// refused is a process with one caller whose first question was refused: somebody else holds the name for a
// minute. It has asked to listen.
func refused(w *world) (*process, *caller) {
	w.redis.take(stock, "java:1", time.Minute)
	a := w.newProcess("A")
	c := a.lock()
	a.expect(Acquire).answer()
	c.wantWaiting()
	return a, c
}

// listeningTo is the same, once it stands in line, listens to the channel of an owner outside, and has asked again.
func listeningTo(w *world) (*process, *caller) {
	a, c := refused(w)
	for range 2 {
		a.subscribe()
		a.expect(Acquire).answer()
	}
	a.silent()
	return a, c
}

func TestRefusal(t *testing.T) {
	playWorld(t, "subscribes once for all who wait", func(w *world) {
		a, _ := refused(w)
		a.lock()
		for range 2 {
			a.subscribe()
			a.expect(Acquire).answer()
		}
		w.want(len(a.wishes) == 0, "no more subscriptions; %v", a.wishes)
		w.redis.free(stock, "java:1")
	})
	playWorld(t, "sleeps until a message", func(w *world) {
		a, c := listeningTo(w)
		w.after(time.Second)
		a.silent()
		w.redis.free(stock, "java:1")
		a.listen()
		a.expect(Acquire).answer()
		c.wantAnswer(Granted)
	})
	playWorld(t, "or until the owner's lease has run out, and one millisecond", func(w *world) {
		w.redis.take(stock, "java:1", 100*time.Millisecond)
		a := w.newProcess("A")
		c := a.lock()
		a.expect(Acquire).answer()
		a.subscribe()
		a.expect(Acquire).answer()
		w.after(100 * time.Millisecond)
		a.silent()
		w.after(time.Millisecond)
		a.expect(Acquire).answer()
		c.wantAnswer(Granted)
	})
	playWorld(t, "or until the poll cap, with jitter", func(w *world) {
		a, _ := listeningTo(w)
		w.after(a.cfg.PollCap * 3 / 4)
		w.after(a.cfg.PollCap / 4)
		a.expect(Acquire).answer()
		w.redis.free(stock, "java:1")
	})
	playWorld(t, "so does a subscription confirmed during it", func(w *world) {
		a, c := refused(w)
		w.after(a.cfg.PollCap)
		ask := a.expect(Acquire)
		ask.run()
		w.redis.free(stock, "java:1")
		a.subscribe()
		ask.answer()
		a.expect(Acquire).answer()
		c.wantAnswer(Granted)
	})
	playWorld(t, "and a reconnected subscription", func(w *world) {
		a, c := listeningTo(w)
		w.redis.unsubscribe(stockChannel, a)
		w.redis.free(stock, "java:1")
		w.redis.subscribe(stockChannel, a)
		a.subscribed(stockChannel, "")
		a.expect(Acquire).answer()
		c.wantAnswer(Granted)
	})
	playWorld(t, "says that the name was free when its message came before anybody waited", func(w *world) {
		a, c := listeningTo(w)
		c.cancel() // the subscription lingers
		a.expect(Release).answer()
		w.redis.free(stock, "java:1")
		a.listen()
		next := a.lock()
		a.expect(Acquire).answer()
		next.wantAnswer(Granted)
	})
}

func TestSubscriptionLingers(t *testing.T) {
	for name, leave := range map[string]func(a *process, c *caller){
		"after a cancelled waiter": func(a *process, c *caller) {
			c.cancel()
			a.expect(Release).answer()
		},
		"after a grant": func(a *process, c *caller) {
			a.world.redis.free(stock, "java:1")
			a.listen()
			a.expect(Acquire).answer()
			c.wantAnswer(Granted)
			c.unlock()
			a.expect(Release).answer()
			a.listen() // our own message
		},
		"after everybody was turned away": func(a *process, c *caller) {
			a.world.after(a.cfg.PollCap)
			a.expect(Acquire).fail(scripts.NoPerm)
			c.wantAnswer(Refused)
			a.expect(Release).answer()
		},
		"after a grant that nobody took": func(a *process, c *caller) {
			a.world.redis.free(stock, "java:1")
			a.listen()
			c.leave()
			a.expect(Acquire).answer()
			a.expect(Release).answer()
			a.listen()
		},
	} {
		playWorld(t, name+", then ends", func(w *world) {
			a, c := listeningTo(w)
			leave(a, c)
			w.after(lingerTime - time.Millisecond)
			w.want(len(a.wishes) == 0, "still listening; %v", a.wishes)
			w.after(time.Millisecond)
			w.want(len(a.wishes) == 2 && !a.wishes[0].on && !a.wishes[1].on, "not listening any more; %v", a.wishes)
			w.want(len(a.entries) == 0, "no machine left")
			w.redis.free(stock, "java:1")
		})
	}
	playWorld(t, "a confirmation that comes after its end changes nothing", func(w *world) {
		a, _ := refused(w)
		entry := a.entries[stock]
		a.close()
		a.subscribed(scripts.Inbox(scripts.LockChannel(stock), "A"), "")
		w.want(entry.Machine.Idle(), "nothing left to wait for")
		w.redis.unsubscribe(scripts.Inbox(scripts.LockChannel(stock), "A"), a)
		a.wishes = nil
		w.redis.free(stock, "java:1")
	})
}
