package gate

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Whose question for permits leaves when, and until when holds and calls of Unlock last.
func TestPermitTurnScenes(t *testing.T) {
	playScenes(t, PermitKind, map[string]string{
		"sleep ends with the first of the held permits": `
			a locks                          -> permit take 1 1x1x1000,
			answer held 500ms                -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 2 1x1x1000, n 1
			answer held 300ms                -> subscribe redisson_sc:{stock}
			after 300ms
			after 1ms                        -> permit take 3 1x1x1000, n 1
			answer held 0s
			after 1ms                        -> permit take 4 1x1x1000, n 1
			answer -1
			after 1s                         -> (500ms) permit take 5 1x1x1000, n 1`,
		"a grant that is read at its deadline is given back": `
			a locks lease 20ms               -> permit take 1 1x1x20,
			after 15ms
			answer 1                         -> permit free 2 1,1,0; n 1`,
		"an extension is asked for once": `
			a locks lease 300ms              -> permit take 1 1x1x300,
			answer 1                         -> a: granted until 295ms
			a extends 900ms                  -> permit renew 2 1,1,900; 300ms
			answer 1                         -> a ok: granted until 891ms
			suspect                          -> permit renew 3 1,1,1; 300ms`,
	})
}

// One call renews 1000 holds. If some are not there, Redis is asked of each, 48 of them by a call.
func TestPermitsAreRenewedTogether(t *testing.T) {
	const lost = 49
	b := newBench(t, PermitKind, time.Second)
	var renewed []int
	b.answer = func(c *Command) {
		well(c)
		if c.Op != PermitRenew {
			return
		}
		holds := strings.Split(strings.TrimSuffix(string(c.Args.PermitRenew().Holds), ";"), ";")
		renewed = append(renewed, len(holds))
		for k, hold := range holds {
			if first, _, _ := strings.Cut(hold, ","); first == strconv.Itoa(lost) {
				c.Reply &^= map[bool]scripts.Reply{true: 1, false: 1 << k}[len(holds) > mostHolds]
			}
		}
	}
	var users []*benchUser
	for range 1100 {
		users = append(users, b.ask(nil))
	}
	b.run(100 * time.Millisecond)
	b.step(func(m Machine) { m.LinkUp(b.now, &b.fx) })
	b.run(100 * time.Millisecond)
	for i, u := range users {
		if u.over != (i == lost-1) {
			t.Errorf("the hold %d is over: %t", i+1, u.over)
		}
	}
	if !slices.Equal(renewed, []int{1000, 100, 48, 48, 4}) {
		t.Errorf("they were renewed in parts of %v", renewed)
	}
}

// No permits are lost because others come and go, or because they are many.
// invariant: change-has-one-effect
func TestManyPermitsAreKept(t *testing.T) {
	const n = 24_000
	b := newBench(t, PermitKind, time.Second)
	b.rtt = 10 * time.Millisecond
	var users []*benchUser
	for range n {
		users = append(users, b.ask(nil))
	}
	b.run(2500 * time.Millisecond)
	served := 0
	others := []*benchUser{b.ask(nil), b.ask(nil), b.ask(nil)}
	for range 2000 { // one of them waits, another one's permit is given back
		b.run(time.Millisecond)
		for i, u := range others {
			if u.out != nil {
				served++
				b.step(func(m Machine) { m.Unlock(b.now, &u.hold, nil, &b.fx) })
				others[i] = b.ask(nil)
			}
		}
	}
	if lost := b.cfg.Stats.Lost.Load(); lost != 0 || b.cfg.Stats.AtRisk.Load() != 0 || served < 30 || slices.ContainsFunc(users, func(u *benchUser) bool { return u.over }) {
		t.Errorf("%d lost, %d at risk, and %d others served", lost, b.cfg.Stats.AtRisk.Load(), served)
	}
}

// Permits that were given back are held no more.
func TestHeldPermitsAreCounted(t *testing.T) {
	b := newBench(t, PermitKind, time.Second)
	u := b.ask(nil)
	b.run(b.rtt)
	held := b.cfg.Stats.Held.Load()
	b.step(func(m Machine) { m.Unlock(b.now, &u.hold, nil, &b.fx) })
	if after := b.cfg.Stats.Held.Load(); held != 1 || after != 0 {
		t.Errorf("%d holds, and after the unlock %d, want 1 and 0", held, after)
	}
}

// A permit is that of the hold that took it together with others, and no other's.
func TestHolderOfAPermit(t *testing.T) {
	held := func(id uint64, n int64) *permit { return &permit{Tenure: Tenure{ID: id}, n: n, h: &Hold{alive: true}} }
	one, two, ended := held(3, 1), held(7, 2), held(12, 2)
	ended.h.alive = false
	m := permits{held: []*permit{one, two, ended, held(20, 1)}}
	for number, want := range map[uint64]*permit{0: nil, 2: nil, 3: one, 4: nil, 6: nil, 7: two, 8: two, 9: nil, 12: nil, 21: nil} {
		if m.find(number) != want {
			t.Errorf("the holder of %d is wrong", number)
		}
	}
}
