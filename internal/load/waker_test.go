package load

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit"
)

func TestWakerWakesInOrderAndNotBefore(t *testing.T) {
	b, err := newWaker()
	testkit.Must(t, err)
	const sleepers = 200
	woken := make(chan Instant, sleepers)
	start := Now()
	b.mu.Lock() // all come at once: one who comes when he is due already would be woken late, not out of order
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(sleepers) {
		due := start + Instant(i)*50*Instant(time.Microsecond)
		b.push(sleeper{due, func() {
			if early := due.Sub(Now()); early > 0 {
				t.Errorf("woken %v early", early)
			}
			woken <- due
		}})
	}
	b.alarm.set(0)
	b.mu.Unlock()
	for i := range Instant(sleepers) {
		if due, want := <-woken, start+i*50*Instant(time.Microsecond); due != want {
			t.Errorf("sleeper %d is due at %d, want %d", i, due, want)
		}
	}
	b.stop()
}

// One who wants to be woken before all others is not kept waiting for them.
func TestWakerWakesAnEarlierSleeperFirst(t *testing.T) {
	b, err := newWaker()
	testkit.Must(t, err)
	woken := make(chan string, 2)
	b.at(Now()+Instant(time.Hour), func() { woken <- "later" })
	b.at(Now()+ms, func() { woken <- "earlier" })
	if who := <-woken; who != "earlier" {
		t.Errorf("%s was woken first", who)
	}
	b.stop()
}

func TestWakerStopWakesEverybody(t *testing.T) {
	b, err := newWaker()
	testkit.Must(t, err)
	woken := make(chan string, 4)
	for range 3 {
		b.at(Now()+Instant(time.Hour), func() { woken <- "sleeper" })
	}
	b.stop()
	if n := len(woken); n != 3 {
		t.Errorf("%d of 3 sleepers are awake when stop returns", n)
	}
	b.at(Now()+Instant(time.Hour), func() { woken <- "latecomer" })
	if n := len(woken); n != 4 {
		t.Error("one who wants to sleep after stop is not woken at once")
	}
}
