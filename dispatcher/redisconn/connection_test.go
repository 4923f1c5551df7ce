package redisconn

import (
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/wire"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/wheel"
)

// rig is one connection to a real server.
type rig struct {
	t          *testing.T
	server     *redistest.Server
	connection *Connection
	returned   chan struct{}
	cut        context.CancelFunc
}

func newRig(t *testing.T, change func(*Config)) *rig {
	r := &rig{t: t, server: redistest.Start(t), returned: make(chan struct{}, 1)}
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{r.server.Addr()}, DisableCache: true, DisableRetry: true})
	if err != nil {
		t.Fatal(err)
	}
	cfg := &Config{
		Settings: wire.Settings{UUID: "11111111-2222-4333-8444-555555555555", Publish: "PUBLISH"},
		Clock:    wheel.NewClock(), ProbeTime: 10 * time.Second,
		Suspect: func(name string) { t.Errorf("%s is suspected", name) },
	}
	if change != nil {
		change(cfg)
	}
	ctx, cut := context.WithCancel(t.Context())
	r.cut = cut
	r.connection = New(NewServer(ctx, cfg, r.server.Addr(), client), AllCommands, func() { r.returned <- struct{}{} })
	t.Cleanup(func() {
		cut()
		r.connection.Stop()
		r.connection.Wait()
		client.Close()
	})
	return r
}

// run sends the connection off and waits until it is back.
func (r *rig) run(task Task, batch ...gate.Command) []gate.Command {
	r.t.Helper()
	c := r.connection
	c.Task, c.Batch = task, batch
	c.Start()
	select {
	case <-r.returned:
	case <-time.After(20 * time.Second):
		r.t.Fatal("the connection does not come back")
	}
	return c.Batch
}

// ready probes the server, which loads the scripts.
func (r *rig) ready() *rig {
	r.t.Helper()
	r.run(Probe)
	if err := r.connection.Err; err != nil {
		r.t.Fatal(err)
	}
	return r
}

// acquires are commands for the names n0, n1 and so on, of the tenures from id on.
func acquires(n int, id uint64) []gate.Command {
	batch := make([]gate.Command, n)
	for i := range batch {
		batch[i] = gate.Command{Op: gate.Acquire, ID: id + uint64(i), LeaseTime: time.Minute, Entry: &gate.Entry{Name: "n" + strconv.Itoa(i)}}
	}
	return batch
}

func (r *rig) wantGranted(batch []gate.Command, granted bool) {
	r.t.Helper()
	for i := range batch {
		if got := batch[i].Reply > 0; batch[i].Result != gate.Answered || got != granted {
			r.t.Errorf("command %d: result %v, reply %v, %q; want granted %v", i, batch[i].Result, batch[i].Reply, batch[i].ServerMessage, granted)
		}
	}
}

// invariant: batch-error-charges-nobody
func TestConnection(t *testing.T) {
	t.Run("carries a batch and brings its answers", func(t *testing.T) {
		r := newRig(t, nil).ready()
		r.wantGranted(r.run(Carry, acquires(300, 1)...), true)
		r.wantGranted(r.run(Carry, acquires(300, 1000)...), false)
		if got := r.server.MustDo("DBSIZE").String(); got != "300" {
			t.Errorf("%s keys, want 300", got)
		}
	})
	t.Run("sends the script, and no other, when the server has lost it", func(t *testing.T) {
		r := newRig(t, nil).ready()
		r.server.MustDo("SCRIPT", "FLUSH")
		r.wantGranted(r.run(Carry, acquires(3, 1)...), true)
		for op, want := range map[gate.Op]int64{gate.Acquire: 1, gate.Renew: 0} {
			if got := r.server.MustDo("SCRIPT", "EXISTS", digests()[op]).Items[0].Int; got != want {
				t.Errorf("the script of operation %v is there: %d, want %d", op, got, want)
			}
		}
	})
	t.Run("charges a refusal to the name that it is about", func(t *testing.T) {
		r := newRig(t, nil)
		r.server.MustDo("ACL", "SETUSER", "default", "resetkeys", "~n0", "~n2")
		r.ready()
		batch := r.run(Carry, acquires(3, 1)...)
		r.wantGranted([]gate.Command{batch[0], batch[2]}, true)
		if batch[1].Result != gate.Denied || batch[1].ServerMessage == "" {
			t.Errorf("the name without rights: result %v, %q", batch[1].Result, batch[1].ServerMessage)
		}
	})
	t.Run("learns the server's time with a batch, but once in ten seconds", func(t *testing.T) {
		r := newRig(t, nil).ready()
		server := r.connection.server
		knows := func() bool {
			ahead := server.clock.NotAfter(server.cfg.Clock.Now()) - gate.LateWindow.Milliseconds() - time.Now().UnixMilli()
			return ahead > -10_000 && ahead < 10_000
		}
		if !knows() {
			t.Error("a probe does not tell the server's time")
		}
		for asks, since := range map[bool]gate.Time{true: relearn, false: relearn - time.Minute} {
			server.Learn(0, server.cfg.Clock.Now())
			server.asked.Store(server.cfg.Clock.Now() - since)
			r.run(Carry, acquires(1, 1)...)
			if knows() != asks {
				t.Errorf("%v after it was asked for its time it is asked: %t", since, !asks)
			}
		}
	})
	t.Run("says that commands were lost, or not sent, when the server is gone", func(t *testing.T) {
		r := newRig(t, nil).ready()
		r.server.Kill()
		first := r.run(Carry, acquires(2, 1)...)
		for range 100 { // until dialling fails
			if first[0].Result == gate.NotSent {
				break
			}
			if first[0].Result != gate.Unknown || r.connection.Err == nil {
				t.Fatalf("result %v, error %v", first[0].Result, r.connection.Err)
			}
			if r.connection.pipe != nil { // the client may still be reading it
				t.Fatal("a pipeline that broke is used again")
			}
			first = r.run(Carry, acquires(2, 1)...)
		}
		if first[1].Result != gate.NotSent {
			t.Errorf("result %v, want NotSent", first[1].Result)
		}
		r.server.Restart()
		r.ready()
		r.wantGranted(r.run(Carry, acquires(2, 1)...), true)
	})
	t.Run("dials anew when it is not trusted any more", func(t *testing.T) {
		r := newRig(t, nil).ready()
		r.run(Carry, acquires(1, 1)...)
		own := r.connection.dedicated.own
		r.run(Carry, acquires(1, 1)...)
		if r.connection.dedicated.own != own {
			t.Error("it dials for each batch")
		}
		if r.connection.dedicated.usedAt == 0 {
			t.Error("it does not know when it was used last")
		}
		r.connection.MarkStale()
		r.run(Carry, acquires(1, 1)...)
		if r.connection.dedicated.own == own {
			t.Error("the connection is the same")
		}
	})
	t.Run("logs in anew when it was refused", func(t *testing.T) {
		r := newRig(t, nil).ready()
		r.server.MustDo("ACL", "SETUSER", "admin", "on", ">secret", "+@all", "~*", "&*")
		r.server.MustDo("ACL", "SETUSER", "default", "resetpass", ">other")
		r.connection.MarkStale()
		if batch := r.run(Carry, acquires(1, 1)...); batch[0].Result != gate.Denied {
			t.Errorf("result %v, %q; want Denied", batch[0].Result, batch[0].ServerMessage)
		}
		r.server.MustDo("AUTH", "admin", "secret")
		r.server.MustDo("ACL", "SETUSER", "default", "nopass")
		r.wantGranted(r.run(Carry, acquires(1, 1)...), true)
	})
	t.Run("sends the names of a wide call one by one when it is refused", func(t *testing.T) {
		r := newRig(t, func(cfg *Config) { cfg.Cluster = true })
		r.server.MustDo("ACL", "SETUSER", "default", "resetkeys", "~n1", "~n2")
		r.ready()
		batch := acquires(3, 1)
		for i := range batch {
			batch[i].Entry.Slot = uint16(i)
		}
		batch = r.run(Carry, batch...)
		r.wantGranted(batch[1:], true)
		if batch[0].Result != gate.Denied {
			t.Errorf("the name without rights: result %v", batch[0].Result)
		}
	})
	t.Run("names no line when its user may not use that", func(t *testing.T) {
		r := newRig(t, nil)
		r.server.MustDo("ACL", "SETUSER", "default", "resetkeys", "~n0", "~n1")
		r.ready()
		batch := acquires(2, 1)
		for i := range batch {
			batch[i].Op, batch[i].Args = gate.AcquireInLine, gate.PlaceArgs{Code: 1 << 61}.Args()
		}
		r.wantGranted(r.run(Carry, batch...), true)
	})
	t.Run("says that a server is no node of a cluster", func(t *testing.T) {
		r := newRig(t, nil).ready()
		if r.run(Survey); r.connection.Err == nil || r.connection.Map != nil {
			t.Errorf("it found %v, %v", r.connection.Map, r.connection.Err)
		}
	})
	t.Run("is cut by the end of its server", func(t *testing.T) {
		r := newRig(t, nil).ready()
		r.server.Freeze()
		defer r.server.Thaw()
		time.AfterFunc(50*time.Millisecond, r.cut)
		if batch := r.run(Carry, acquires(1, 1)...); batch[0].Result != gate.Unknown {
			t.Errorf("result %v, want Unknown", batch[0].Result)
		}
	})
	t.Run("suspects the names of a call whose keys are gone at once", func(t *testing.T) {
		var suspects []string
		r := newRig(t, func(cfg *Config) {
			cfg.WatchLoss, cfg.Suspect = true, func(name string) { suspects = append(suspects, name) }
		}).ready()
		r.run(Carry, acquires(2, 1)...)
		if len(suspects) != 0 {
			t.Errorf("suspected are %q", suspects)
		}
		r.server.MustDo("DEL", "n0")
		renew := acquires(2, 1)
		renew[0].Op, renew[1].Op = gate.Renew, gate.Renew
		r.run(Carry, renew...)
		r.run(Probe) // behind it the suspects have been told
		if len(suspects) != 2 {
			t.Errorf("suspected are %q, want both names of the call", suspects)
		}
	})
}

// A connection of a class carries what counts only once replicas have it, or everything else.
func TestClass(t *testing.T) {
	for op := gate.Op(1); op < gate.Ops; op++ {
		if !AllCommands.Takes(op) || ReplicatedCommands.Takes(op) == OtherCommands.Takes(op) || ReplicatedCommands.Takes(op) != op.Confirms() {
			t.Errorf("operation %d is carried by no class, or by two", op)
		}
	}
}

// A batch that replicas are to have counts for nothing while there are none.
// invariant: replicas-acknowledge
func TestUnreplicated(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.Replicas, cfg.ReplicaTime = 1, 50*time.Millisecond }).ready()
	r.connection.Class = ReplicatedCommands
	if batch := r.run(Carry, acquires(1, 1)...); batch[0].Result != gate.UnderReplicated {
		t.Errorf("result %v, want UnderReplicated", batch[0].Result)
	}
}

// All replicas that are connected: how many those are is asked with each batch.
// invariant: replicas-acknowledge
func TestAllReplicas(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.Replicas = AllReplicas }).ready()
	r.connection.Class = ReplicatedCommands
	id := uint64(1)
	granted := func(within time.Duration) bool {
		t.Helper()
		r.connection.cfg.ReplicaTime = within
		id++
		batch := acquires(1, id)
		batch[0].Entry.Name += ":" + strconv.FormatUint(id, 10)
		switch result := r.run(Carry, batch...)[0].Result; result {
		case gate.Answered, gate.UnderReplicated:
			return result == gate.Answered
		default:
			t.Fatalf("result %v, error %v", result, r.connection.Err)
			return false
		}
	}
	const short, long = 100 * time.Millisecond, 10 * time.Second
	replicas := func() []redistest.Reply { return r.server.MustDo("ROLE").Items[2].Items }
	if !granted(long) {
		t.Error("not granted without a replica")
	}
	first := redistest.StartReplica(t, r.server)
	if !granted(long) {
		t.Error("not granted when a replica has come")
	}
	first.Freeze()
	if granted(short) {
		t.Error("granted while the replica stands still")
	}
	first.Thaw()
	if !granted(long) {
		t.Error("not granted when it goes on")
	}
	second := redistest.StartReplica(t, r.server)
	second.Freeze()
	if granted(short) {
		t.Error("granted while the second of two, which has come, stands still")
	}
	second.Kill()
	redistest.Await(t, "the master to notice", func() bool { return len(replicas()) == 1 })
	redistest.Await(t, "a grant when the second has left", func() bool { return granted(short) })

	reader, err := net.Dial("tcp", r.server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if _, err := io.WriteString(reader, "SYNC\r\n"); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, reader)
	redistest.Await(t, "a client that reads the stream", func() bool { return len(replicas()) == 2 })
	if !granted(long) || r.connection.dedicated.replicas != 1 {
		t.Errorf("with a client that only reads the stream %d replicas are waited for", r.connection.dedicated.replicas)
	}
}

func TestRights(t *testing.T) {
	r, publish := newRig(t, nil).ready(), "PUBLISH"
	find := func() *Missing {
		t.Helper()
		rights := Rights{Client: r.connection.server.Client, UUID: "u", Publish: publish}
		missing, err := rights.Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return missing
	}
	if err := find().Err(); err != nil {
		t.Errorf("with all rights: %v", err)
	}
	r.server.MustDo("ACL", "SETUSER", "default", "-pexpire", "-subscribe")
	if m := find(); len(m.Refused) != 2 || m.Err() == nil {
		t.Errorf("without two of them: %+v", m)
	}
	r.server.MustDo("ACL", "SETUSER", "default", "-eval")
	if m := find(); len(m.Refused) != 2 || !slices.Contains(m.Untried, "pexpire") || !strings.Contains(m.Err().Error(), "cannot be tried without EVAL, +") {
		t.Errorf("without EVAL: %+v, want EVAL and SUBSCRIBE refused, and what scripts run untried", m)
	}
	publish = "BOTH"
	if m := find(); !slices.Contains(m.Refused, "subscribe") || slices.Contains(m.Refused, "ssubscribe") {
		t.Errorf("without SUBSCRIBE: %+v", m)
	}
	r.server.MustDo("ACL", "SETUSER", "default", "-ssubscribe")
	if m := find(); !slices.Contains(m.Refused, "ssubscribe") {
		t.Errorf("without SSUBSCRIBE: %+v", m)
	}
}

// A server has sharded channels also if this user may not ask; of one that is gone nothing is known.
func TestSharded(t *testing.T) {
	r := newRig(t, nil)
	has := func(sharded, known bool) {
		t.Helper()
		if s, k := Sharded(t.Context(), r.connection.server.Client); s != sharded || k != known {
			t.Errorf("sharded %t, known %t; want %t, %t", s, k, sharded, known)
		}
	}
	has(true, true)
	r.server.MustDo("ACL", "SETUSER", "default", "-pubsub")
	has(true, true)
	r.server.Kill()
	has(false, false)
}

// Calls with names of several hash slots go to nodes of a cluster that have refused none since their link is new.
func TestWideCalls(t *testing.T) {
	r := newRig(t, nil)
	s := r.connection.server
	for _, c := range []struct {
		cluster, declared bool
		refuses           string
		want              bool
	}{{want: false}, {cluster: true, want: true}, {cluster: true, declared: true}, {cluster: true, refuses: "no"}, {declared: true, refuses: "no"}} {
		s.cfg.Cluster, s.cfg.Declared = c.cluster, c.declared
		s.refusesWide.Store(c.refuses)
		if s.wide() != c.want {
			t.Errorf("%+v: %t", c, !c.want)
		}
	}
	if r.ready(); s.RefusesWide() != "" {
		t.Errorf("after a probe it is believed to refuse: %s", s.RefusesWide())
	}
}
