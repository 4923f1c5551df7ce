package gate

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/wheel"
)

// What the machine of a name costs without the loop and without Redis. After each event the loop asks for the next alarm and
// whether the entry can be forgotten, and so does this server.

// instantServer answers at once and well.
type instantServer struct {
	now      Time
	cfg      *Config
	machine  Machine
	fx       Effects
	command  Command // the one that is being answered
	commands int
}

func newInstantServer(kind Kind) *instantServer {
	cfg := &Config{LeaseTime: 30 * time.Second, HandoffTime: 10 * time.Millisecond, PollCap: 5 * time.Second, FairWaiterLease: 30 * time.Second, UUID: "u",
		Waits: wheel.NewSlots[*Waiter](1024, nil), Stats: &Stats{}, Codes: plainCodes{}, Doubts: true}
	return &instantServer{now: time.Hour, cfg: cfg, machine: NewEntry("stock", kind, cfg).Machine}
}

// answer answers the command that was sent, one of those operations, or wakes the machine.
func (s *instantServer) answer(ops ...Op) {
	at := s.machine.NextAlarm()
	for _, op := range ops {
		if sent := s.fx.Commands[op]; len(sent) > 0 {
			s.command, s.fx.Commands[op] = sent[0], sent[:0]
			s.command.Sent = s.now
			s.now += 10 * time.Microsecond
			well(&s.command)
			s.commands++
			s.machine.Answer(s.now, &s.command, &s.fx)
			return
		}
	}
	s.now = max(s.now, at)
	s.machine.Wake(s.now, &s.fx)
}

// pairUser is a caller that locks and unlocks.
type pairUser struct {
	hold    Hold
	waiter  Waiter
	granted bool
}

func (u *pairUser) Settle(Outcome) bool {
	u.granted = true
	return true
}

func (u *pairUser) End(Why) {}

func (u *pairUser) ask(s *instantServer) {
	u.hold = Hold{By: u}
	u.waiter = Waiter{By: u, Hold: &u.hold, LeaseTime: s.cfg.LeaseTime, Watch: true, N: 1, Write: true}
	u.granted = false
	s.machine.Ask(s.now, &u.waiter, &s.fx)
}

// benchmarkKinds are those of the locks, with the operations that take and free them.
var benchmarkKinds = []struct {
	name string
	kind Kind
	ops  []Op
}{
	{"mutex", MutexKind, []Op{Acquire, Release, Confirm, Renew}},
	{"fenced", FencedKind, []Op{AcquireFenced, Release, Confirm, Renew}},
	{"fair", FairKind, []Op{FairAsk, FairRelease, FairLeave, Renew}},
	{"write", RWKind, []Op{AcquireWrite, ReleaseWrite, ConfirmWrite, RenewWrite}},
	{"simple", SimpleKind, []Op{AcquireSimple, ReleaseSimple, ConfirmSimple, RenewSimple, Peek}},
	{"permit", PermitKind, []Op{PermitTake, PermitFree, PermitRenew}},
}

// BenchmarkPair is a lock and its unlock that nobody else wants.
func BenchmarkPair(b *testing.B) {
	for _, k := range benchmarkKinds {
		b.Run(k.name, func(b *testing.B) {
			s, u := newInstantServer(k.kind), &pairUser{}
			b.ReportAllocs()
			for b.Loop() {
				for u.ask(s); !u.granted; {
					s.answer(k.ops...)
				}
				for s.machine.Unlock(s.now, &u.hold, u, &s.fx); !s.machine.Idle(); {
					s.answer(k.ops...)
				}
			}
			if s.commands != 2*b.N {
				b.Errorf("%d commands for %d pairs", s.commands, b.N)
			}
		})
	}
}

// BenchmarkHandoff is an unlock for which a caller waits; the one that unlocked asks again.
func BenchmarkHandoff(b *testing.B) {
	for _, k := range benchmarkKinds[:5] {
		b.Run(k.name, func(b *testing.B) {
			s, in, out := newInstantServer(k.kind), &pairUser{}, &pairUser{}
			for in.ask(s); !in.granted; {
				s.answer(k.ops...)
			}
			out.ask(s)
			b.ReportAllocs()
			for b.Loop() {
				s.now += 10 * time.Microsecond
				s.machine.Unlock(s.now, &in.hold, nil, &s.fx)
				for in.ask(s); !out.granted; {
					s.answer(k.ops...)
				}
				in, out = out, in
			}
			b.ReportMetric(float64(s.commands)/float64(b.N), "commands/op")
		})
	}
}
