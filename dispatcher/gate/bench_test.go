package gate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
	"github.com/wheellock/wheellock/wheel"
)

// bench is one name of one engine and a server whose answers a test makes, in simulated time.
type bench struct {
	t       *testing.T
	now     Time
	cfg     *Config
	entry   *Entry
	rtt     time.Duration
	answer  func(c *Command) // what becomes of a command
	answers []Command        // on their way
	at      []Time           // when they arrive
	sent    map[Op][]Time
	fx      Effects
}

type benchUser struct {
	b    *bench
	hold Hold
	w    Waiter
	out  *Outcome
	over bool
}

func (u *benchUser) Settle(out Outcome) bool {
	if u.out != nil {
		return false
	}
	u.out = &out
	return true
}

func (u *benchUser) End(Why) { u.over = true }

func newBench(t *testing.T, kind Kind, lease time.Duration) *bench {
	cfg := &Config{LeaseTime: lease, HandoffTime: 10 * time.Millisecond, PollCap: 5 * time.Second, FairWaiterLease: 30 * time.Second, UUID: "u",
		Waits: wheel.NewSlots[*Waiter](1024, nil), Stats: &Stats{}, Codes: plainCodes{}, Doubts: true}
	b := &bench{t: t, now: time.Hour, cfg: cfg, entry: NewEntry("stock", kind, cfg), rtt: time.Millisecond, answer: well, sent: make(map[Op][]Time)}
	return b
}

// ask brings a caller to the machine.
func (b *bench) ask(change func(w *Waiter)) *benchUser {
	u := &benchUser{b: b}
	u.hold.By, u.hold.Entry = u, b.entry
	u.w = Waiter{By: u, Hold: &u.hold, LeaseTime: b.cfg.LeaseTime, Watch: true, N: 1, Entry: b.entry}
	if change != nil {
		change(&u.w)
	}
	b.step(func(m Machine) { m.Ask(b.now, &u.w, &b.fx) })
	return u
}

func (b *bench) step(event func(Machine)) {
	event(b.entry.Machine)
	for op := range b.fx.Commands {
		for _, c := range b.fx.Commands[op] {
			c.Sent = b.now
			b.sent[c.Op] = append(b.sent[c.Op], b.now)
			b.answers, b.at = append(b.answers, c), append(b.at, b.now+b.rtt)
		}
	}
	b.fx = Effects{}
}

// run lets time go by.
func (b *bench) run(d time.Duration) {
	end := b.now + d
	for steps := 0; ; steps++ {
		if steps > 100_000 {
			b.t.Fatalf("it does not come to rest; sent: %s", b.counts())
		}
		at := b.entry.Machine.NextAlarm()
		answer := len(b.at) > 0 && b.at[0] <= max(at, b.now)
		if answer {
			at = b.at[0]
		}
		if at > end {
			break
		}
		b.now = max(b.now, at)
		if !answer {
			b.step(func(m Machine) { m.Wake(b.now, &b.fx) })
			continue
		}
		c := b.answers[0]
		b.answers, b.at = b.answers[1:], b.at[1:]
		b.answer(&c)
		b.step(func(m Machine) { m.Answer(b.now, &c, &b.fx) })
	}
	b.now = end
}

func (b *bench) counts() string {
	var all []string
	for op, times := range b.sent {
		all = append(all, fmt.Sprintf("%v: %d", op, len(times)))
	}
	return strings.Join(all, ", ")
}

// rate is the most commands of one operation within a second, after a time.
func (b *bench) rate(after Time) (most int, of Op) {
	for op, times := range b.sent {
		for i := range times {
			n := 0
			for _, at := range times[i:] {
				if times[i] >= after && at < times[i]+time.Second {
					n++
				}
			}
			if n > most {
				most, of = n, op
			}
		}
	}
	return most, of
}

// well answers as a server that is well, where the name is free.
func well(c *Command) {
	c.Result = Answered
	switch c.Op {
	case Acquire, AcquireRead, AcquireWrite, AcquireSimple, FairAsk, Renew, RenewRead, RenewWrite, RenewSimple:
		c.Reply = 1
	case AcquireFenced:
		c.Reply = 1 << 40
	case Take:
		c.Reply = scripts.Reply(strings.Count(string(c.Args.Take().Runs), "x"))
	case PermitTake:
		c.Reply = scripts.Reply(len(c.Entry.Machine.(*Sequencer).permits.asked))
	case PermitFree:
		c.Reply = wholeHolds(c.Args.PermitFree().Holds)
	case PermitRenew:
		c.Reply = wholeHolds(c.Args.PermitRenew().Holds)
	case GetCount:
		c.Reply = 1
	default:
		c.Reply = 0
	}
	if c.Op == FairAsk && c.ID == 0 {
		c.Reply = -100
	}
}

// wholeHolds is the answer that all permits of these holds are there.
func wholeHolds(holds scripts.PermitHolds) scripts.Reply {
	if n := strings.Count(string(holds), ";"); n <= mostHolds {
		return 1<<n - 1
	}
	return 1
}
