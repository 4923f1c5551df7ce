package wire

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

var settings = Settings{UUID: "11111111-2222-4333-8444-555555555555", Salt: "r4nd0m", Publish: "PUBLISH", FenceTTL: time.Hour, FairWaiterLease: time.Minute}

// invariant: change-has-one-effect, reply-says-what-redis-holds
func TestWriter(t *testing.T) {
	owner := func(id string) string { return settings.UUID + ":" + id }
	const sent = 7 * time.Second
	var clock ServerClock
	clock.Learn(1_000_000, 0)
	notAfter := strconv.FormatInt((1_000_000*time.Millisecond + sent + gate.LateWindow).Milliseconds(), 10)
	w := NewWriter(&settings, &clock)
	write := func(leases ...time.Duration) (batch []gate.Command, args []string) {
		for i, lease := range leases {
			batch = append(batch, gate.Command{Op: gate.Acquire, ID: uint64(i + 1), LeaseTime: lease, Entry: &gate.Entry{Name: "n" + strconv.Itoa(i)}})
		}
		keys, args := w.Write(batch, Call{Op: gate.Acquire, To: len(batch)}, sent)
		for i, key := range keys {
			if key != batch[i].Entry.Name {
				t.Errorf("key %d is %q, want %q", i, key, batch[i].Entry.Name)
			}
		}
		return batch, args
	}
	t.Run("writes the deadline, the owners and one lease if all are alike", func(t *testing.T) {
		_, args := write(30*time.Second, 30*time.Second)
		if want := []string{notAfter, owner("1"), owner("2"), "30000"}; !slices.Equal(args, want) {
			t.Errorf("arguments %q, want %q", args, want)
		}
	})
	t.Run("writes all leases if one differs", func(t *testing.T) {
		_, args := write(30*time.Second, 30*time.Second, time.Second)
		if want := []string{notAfter, owner("1"), owner("2"), owner("3"), "30000", "30000", "1000"}; !slices.Equal(args, want) {
			t.Errorf("arguments %q, want %q", args, want)
		}
	})
	t.Run("writes all leases if those at the ends are alike and one between them is not", func(t *testing.T) {
		_, args := write(30*time.Second, time.Second, 30*time.Second)
		if want := []string{notAfter, owner("1"), owner("2"), owner("3"), "30000", "1000", "30000"}; !slices.Equal(args, want) {
			t.Errorf("arguments %q, want %q", args, want)
		}
	})
	t.Run("keeps nothing of the call before", func(t *testing.T) {
		_, args := write(2 * time.Second)
		if want := []string{notAfter, owner("1"), "2000"}; !slices.Equal(args, want) {
			t.Errorf("arguments %q, want %q", args, want)
		}
	})
	t.Run("notes when the commands were sent", func(t *testing.T) {
		if batch, _ := write(time.Second, time.Second); batch[0].Sent != sent || batch[1].Sent != sent {
			t.Errorf("sent at %v and %v, want %v", batch[0].Sent, batch[1].Sent, sent)
		}
	})
	t.Run("counts the deadline from when the first of the commands had to leave", func(t *testing.T) {
		batch := batchOf(gate.Give, gate.Give, gate.Give)
		for _, test := range []struct{ leaveBy, from time.Duration }{{sent - time.Second, sent - time.Second}, {sent + time.Second, sent}} {
			batch[1].LeaveBy = test.leaveBy
			_, args := w.Write(batch, Call{Op: gate.Give, To: len(batch)}, sent)
			if want := strconv.FormatInt(clock.NotAfter(test.from), 10); args[1] != want || batch[1].Sent != sent {
				t.Errorf("had to leave by %v: notAfter %s, want %s; sent at %v, want %v", test.leaveBy, args[1], want, batch[1].Sent, sent)
			}
		}
	})
	t.Run("allocates once for all arguments of a call", func(t *testing.T) {
		for _, wide := range []bool{false, true} {
			batch := batchOf(slices.Repeat([]gate.Op{gate.Release}, maxNames)...)
			call := Call{Op: gate.Release, To: len(batch), Wide: wide}
			w.Write(batch, call, sent)
			if n := testing.AllocsPerRun(100, func() { w.Write(batch, call, sent) }); n != 1 {
				t.Errorf("%v allocations, want 1", n)
			}
		}
	})
	t.Run("declares the first key of a wide call, and writes all behind the arguments", func(t *testing.T) {
		batch := batchOf(gate.Release, gate.Release)
		batch[1].Entry.Name = "m"
		keys, args := w.Write(batch, Call{Op: gate.Release, To: 2, Wide: true}, sent)
		want := []string{"PUBLISH", owner("1"), scripts.LockChannel("n"), owner("2"), scripts.LockChannel("m"), "n", scripts.LineKey("n"), "m", scripts.LineKey("m"), "4", "KEYS"}
		if !slices.Equal(keys, []string{"n"}) || !slices.Equal(args, want) {
			t.Errorf("keys %q, arguments %q, want %q", keys, args, want)
		}
	})
	t.Run("tells a script whether to keep to declared keys", func(t *testing.T) {
		for _, c := range []struct {
			asking, declared bool
			want             string
		}{{false, false, "0"}, {true, false, "1"}, {false, true, "1"}, {true, true, "1"}} {
			of := settings
			of.Declared = c.declared
			_, args := NewWriter(&of, &clock).Write(batchOf(gate.ReleaseRead), Call{Op: gate.ReleaseRead, To: 1, Asking: c.asking}, sent)
			if want := []string{"PUBLISH", c.want}; !slices.Equal(args[:2], want) {
				t.Errorf("with ASKING %v and the setting %v the arguments begin with %q, want %q", c.asking, c.declared, args[:2], want)
			}
		}
	})
}

// Every operation has a script, and its first key is the name.
func TestEveryOperationIsWritten(t *testing.T) {
	e := NewEncoder(settings)
	for op, s := range Scripts {
		if s == nil {
			t.Errorf("operation %d has no script", op)
			continue
		}
		c := gate.Command{Op: op, ID: 5, LeaseTime: time.Second, Args: argsOf(op), Entry: &gate.Entry{Name: stock}}
		text, keys, args := e.Encode(&c, false, time.Second)
		if text != s.Text || c.Sent != time.Second {
			t.Errorf("operation %d is written with another script, or its Sent is not noted", op)
		}
		if len(keys) == 0 || op != gate.PermitRenew && keys[0] != stock {
			t.Errorf("operation %d has the keys %q", op, keys)
		}
		if slices.Contains(args, settings.UUID+":0") {
			t.Errorf("operation %d names the owner of no tenure: %q", op, args)
		}
	}
}

// A mutex and a semaphore have a line, and a call names it, unless that may lie apart. Of other kinds the name stands in its place.
// invariant: command-follows-its-slot
func TestALineIsNamedWhereThereIsOne(t *testing.T) {
	e := NewEncoder(settings)
	for op := gate.None + 1; op < gate.Ops; op++ {
		for _, kind := range []gate.Kind{gate.MutexKind, gate.FencedKind, gate.SpinKind, gate.RWKind, gate.SimpleKind, gate.FairKind, gate.SemaphoreKind, gate.PermitKind, gate.LatchKind} {
			for _, lineless := range []bool{false, true} {
				c := gate.Command{Op: op, ID: 5, Args: argsOf(op), Entry: &gate.Entry{Name: stock, Kind: kind}}
				_, keys, _ := e.Encode(&c, lineless, time.Second)
				want := c.Lined() && !lineless
				if got := slices.Contains(keys, scripts.LineKey(stock)); got != want {
					t.Errorf("%v of kind %d, lineless %t, has the keys %q", op, kind, lineless, keys)
				}
			}
		}
	}
}

// The owner of a simple lock is one that nobody guesses, in whatever is done to the lock.
// invariant: released-owner-is-dead
func TestTheOwnerOfASimpleLockHasItsSalt(t *testing.T) {
	e := NewEncoder(settings)
	for _, op := range []gate.Op{gate.AcquireSimple, gate.AcquireSimpleInLine, gate.RenewSimple, gate.ConfirmSimple, gate.AdoptSimple, gate.DetachSimple, gate.ReleaseSimple, gate.ReleaseSimpleFromLine} {
		c := gate.Command{Op: op, ID: 5, Args: argsOf(op), Entry: &gate.Entry{Name: stock, Kind: gate.SimpleKind}}
		if _, _, args := e.Encode(&c, false, time.Second); !slices.Contains(args, own(5)+":r4nd0m") {
			t.Errorf("%v has the arguments %q", op, args)
		}
	}
}

// A reader is released with the key of its hold, be it ours or another's.
// invariant: released-owner-is-dead
func TestAReleaseNamesTheHoldOfItsReader(t *testing.T) {
	e := NewEncoder(settings)
	for owner, of := range map[string]string{"": own(5), "java:1": "java:1"} {
		c := gate.Command{Op: gate.ReleaseRead, ID: 5, Args: gate.ReleaseArgs{Owner: owner}.Args(), Entry: &gate.Entry{Name: stock, Kind: gate.RWKind}}
		if _, keys, _ := e.Encode(&c, false, time.Second); !slices.Equal(keys, []string{stock, scripts.LineKey(stock), scripts.HoldKey(stock, of)}) {
			t.Errorf("the release of %q has the keys %q", owner, keys)
		}
	}
}

// The estimate of the server's clock is never ahead of the truth: an answer that was slow makes notAfter earlier.
// invariant: late-acquire-does-nothing
func TestServerClockCountsFromTheAnswer(t *testing.T) {
	var s ServerClock
	s.Learn(50_000, 20*time.Second) // read at 50.000 there, at 20 s here
	if got, want := s.NotAfter(21*time.Second), int64(51_000+gate.LateWindow.Milliseconds()); got != want {
		t.Errorf("notAfter %d, want %d", got, want)
	}
}

// argsOf are arguments of an operation as a gate packs them.
func argsOf(op gate.Op) gate.Args {
	for _, c := range packed {
		if c.op == op {
			return c.args
		}
	}
	return gate.Args{}
}

// packed are the operations that have arguments of their own, and what is written for one command of tenure or call 5 with a
// lease of a second, behind what comes once in a call.
var packed = []struct {
	op   gate.Op
	args gate.Args
	want []string
}{
	{gate.Release, gate.ReleaseArgs{}.Args(), []string{own(5), scripts.LockChannel(stock)}},
	{gate.Release, gate.ReleaseArgs{Owner: "java:1"}.Args(), []string{"java:1", scripts.LockChannel(stock)}},
	{gate.ReleaseFromLine, gate.ReleaseArgs{Code: 77}.Args(), []string{own(5), scripts.LockChannel(stock), "77"}},
	{gate.AcquireInLine, gate.PlaceArgs{Code: 77}.Args(), []string{own(5), "1000", "77"}},
	{gate.AcquireSimple, gate.PlaceArgs{}.Args(), []string{own(5), "1000"}},
	{gate.AcquireSimpleInLine, gate.PlaceArgs{Code: 77}.Args(), []string{own(5), "1000", "77", scripts.LockChannel(stock)}},
	{gate.ConfirmSimple, gate.Args{}, []string{own(5), "1000"}},
	{gate.AdoptSimple, gate.AdoptArgs{Owner: "token"}.Args(), []string{"token", own(5), "1000"}},
	{gate.DetachSimple, gate.Args{}, []string{own(5), own(5) + gate.DetachedSuffix, "1000", scripts.LockChannel(stock)}},
	{gate.ReleaseSimple, gate.ReleaseArgs{Turn: time.Minute}.Args(), []string{own(5), scripts.LockChannel(stock), "60000"}},
	{gate.ReleaseSimple, gate.ReleaseArgs{Owner: "token"}.Args(), []string{"token", scripts.LockChannel(stock), "0"}},
	{gate.ReleaseSimpleFromLine, gate.ReleaseArgs{Code: 77, Turn: time.Second}.Args(), []string{own(5), scripts.LockChannel(stock), "1000", "77"}},
	{gate.ReleaseRead, gate.ReleaseArgs{Owner: "java:1"}.Args(), []string{"java:1", scripts.RWChannel(stock)}},
	{gate.ReleaseWrite, gate.ReleaseArgs{}.Args(), []string{own(5) + gate.WriterSuffix, scripts.RWChannel(stock)}},
	{gate.ReleaseWrite, gate.ReleaseArgs{Owner: "java:1:write"}.Args(), []string{"java:1:write", scripts.RWChannel(stock)}},
	{gate.ReleaseWriteFromLine, gate.ReleaseArgs{Code: 77}.Args(), []string{own(5) + gate.WriterSuffix, scripts.RWChannel(stock), "77"}},
	{gate.AcquireWrite, gate.PlaceArgs{}.Args(), []string{own(5) + gate.WriterSuffix, "1000"}},
	{gate.AcquireWriteInLine, gate.PlaceArgs{Code: -77}.Args(), []string{own(5) + gate.WriterSuffix, "1000", "-77"}},
	{gate.ReleaseReadFromLine, gate.ReleaseArgs{Code: 1}.Args(), []string{own(5), scripts.RWChannel(stock), "1"}},
	{gate.FairRelease, gate.FairReleaseArgs{Successor: 6}.Args(), []string{own(5), "6", "1000", scripts.LockChannel(stock)}},
	{gate.FairLeave, gate.FairLeaveArgs{N: 3}.Args(), []string{"3", "5", scripts.LockChannel(stock)}},
	{gate.FairAsk, gate.FairAskArgs{Place: scripts.FirstToJoin, First: 5, Joining: 3}.Args(), []string{"5", "NEW", "1000", "3", "5", scripts.LockChannel(stock), "0"}},
	{gate.FairAsk, gate.FairAskArgs{Place: scripts.InQueue, Code: 77}.Args(), []string{"5", "OLD", "1000", "0", "0", scripts.LockChannel(stock), "77"}},
	{gate.AcquireRead, gate.PlaceArgs{}.Args(), []string{own(5), "1000", ""}},
	{gate.AcquireRead, gate.PlaceArgs{Code: -1}.Args(), []string{own(5), "1000", "-1"}},
	{gate.Take, gate.TakeArgs{Runs: "1x2,3x1,"}.Args(), []string{"5", "0", "1x2,3x1,", "0", "0", scripts.SemaphoreChannel(stock)}},
	{gate.Take, gate.TakeArgs{Runs: "1x2,3x1,", Place: 2, Resent: true, Collects: true}.Args(), []string{"5", "1", "1x2,3x1,", "2", "1", scripts.SemaphoreChannel(stock)}},
	{gate.PermitTake, gate.TakeArgs{Runs: "3x1x1000,"}.Args(), []string{"5", "0", "3x1x1000,", "0", "0", scripts.SemaphoreChannel(stock)}},
	{gate.PermitTake, gate.TakeArgs{Runs: "3x1x1000,", Place: 2, Resent: true}.Args(), []string{"5", "1", "3x1x1000,", "2", "0", scripts.SemaphoreChannel(stock)}},
	{gate.PermitFree, gate.PermitFreeArgs{Holds: "6,3,0;", N: 3}.Args(), []string{"5", "6,3,0;", "", scripts.SemaphoreChannel(stock)}},
	{gate.PermitFree, gate.PermitFreeArgs{IDs: "0123456789abcdef"}.Args(), []string{"5", "", "0123456789abcdef", scripts.SemaphoreChannel(stock)}},
	{gate.PermitRenew, gate.PermitRenewArgs{Holds: "6,3,1000;"}.Args(), []string{"6,3,1000;"}},
	{gate.Give, gate.CountArgs{N: 3}.Args(), []string{"5", "3", scripts.SemaphoreChannel(stock)}},
	{gate.CountDown, gate.CountArgs{N: 3}.Args(), []string{"5", "3", scripts.LatchChannel(stock)}},
}

const stock = "stock:7"

func own(tenure uint64) string {
	return string(gate.MutexKind.AppendOwner(nil, settings.UUID, "", tenure))
}

// What a gate packs into the arguments of a command is what its script is told.
func TestArgumentsAreWritten(t *testing.T) {
	e := NewEncoder(settings)
	for _, p := range packed {
		c := gate.Command{Op: p.op, ID: 5, LeaseTime: time.Second, Args: p.args, Entry: &gate.Entry{Name: stock}}
		_, _, args := e.Encode(&c, false, time.Second)
		if got := args[max(len(args)-len(p.want), 0):]; !slices.Equal(got, p.want) {
			t.Errorf("%v is written as %q, want %q at the end", p.op, args, p.want)
		}
	}
}
