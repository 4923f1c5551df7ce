package features_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

func named(identity string) func(*engine.Options) {
	return func(o *engine.Options) { o.Identity = identity }
}

func TestHolderTellsWhoIsBehindAnOwnerID(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	began := time.Now().Truncate(time.Second)
	ours, theirs := testkit.Connect(t, server.Addr()), testkit.Connect(t, server.Addr(), named("gateway@eu-1/blue:7"))
	h := testkit.MustLock(t, theirs.RWMutex("stock:7").Writer())
	state, err := ours.RWMutex("stock:7").Writer().Inspect(testkit.Soon(t))
	if err != nil || state.Owner != h.TenureID() {
		t.Fatalf("Inspect = %+v, %v", state, err)
	}
	for _, id := range []string{state.Owner, theirs.ID()} {
		who, err := ours.Holder(testkit.Soon(t), id)
		if err != nil || who.Identity != "gateway@eu-1/blue:7" || who.ID.Client != theirs.ID() || who.Connections < 1 {
			t.Errorf("Holder(%s) = %+v, %v", id, who, err)
		}
		if !strings.HasPrefix(who.Address, "127.0.0.1:") {
			t.Errorf("address %q", who.Address)
		}
		if who.Since.Before(began.Add(-time.Second)) || who.Since.After(time.Now()) {
			t.Errorf("connected since %v, want after %v", who.Since, began)
		}
	}
	who, err := theirs.Holder(testkit.Soon(t), ours.ID())
	host, _ := os.Hostname()
	usual := fmt.Sprintf("%s@%s:%d", filepath.Base(os.Args[0]), host, os.Getpid())
	if err != nil || who.Identity != regexp.MustCompile(`[^!-~]`).ReplaceAllString(usual, "_") {
		t.Errorf("the usual identity is %q, %v; want %q", who.Identity, err, usual)
	}
	testkit.MustUnlock(t, h)

	t.Run("of a Java owner, an engine that has gone, and one without identity", func(t *testing.T) {
		outsider := testkit.NewOutsider(t, server.Addr())
		server.MustDo("HSET", "java", outsider.Owner, "1")
		server.MustDo("PEXPIRE", "java", "30000")
		state, err := ours.Mutex("java").Inspect(testkit.Soon(t))
		if err != nil || state.OwnerID != (engine.OwnerID{Client: "0b7d4c7e-0000-4000-8000-00000000feed", Number: 1}) {
			t.Fatalf("Inspect = %+v, %v", state, err)
		}
		who, err := ours.Holder(testkit.Soon(t), state.Owner)
		if err != nil || who != (engine.Holder{ID: state.OwnerID}) {
			t.Errorf("of a Java owner: %+v, %v", who, err)
		}
		gone := testkit.Connect(t, server.Addr())
		gone.Close()
		nameless := testkit.Connect(t, server.Addr(), named("-"))
		for _, e := range []*engine.Engine{gone, nameless} {
			redistest.Await(t, "the connections to be closed", func() bool {
				who, err = ours.Holder(testkit.Soon(t), e.ID())
				return err != nil || who.Connections == 0
			})
			if err != nil || who.Identity != "" || who.Address != "" || !who.Since.IsZero() {
				t.Errorf("Holder = %+v, %v", who, err)
			}
		}
	})
	t.Run("refuses what is no owner id", func(t *testing.T) {
		for _, id := range []string{"", ":1", "a,b", "a b", "a/b:1"} {
			if _, err := ours.Holder(testkit.Soon(t), id); !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("Holder(%q): %v, want ErrInvalid", id, err)
			}
		}
	})
	t.Run("among thousands of connections", func(t *testing.T) { // whose list is longer than any other reply
		const others = 1500
		server.MustDo("CONFIG", "SET", "maxclients", fmt.Sprint(others+1000))
		long := strings.Repeat("n", 700)
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true, ClientName: long, BlockingPoolSize: others,
			ReadBufferEachConn: 1 << 10, WriteBufferEachConn: 1 << 10, RingScaleEachConn: 1})
		testkit.Must(t, err)
		defer client.Close()
		for range others {
			conn, release := client.Dedicate()
			defer release()
			testkit.Must(t, conn.Do(t.Context(), conn.B().Ping().Build()).Error())
		}
		ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
		defer cancel()
		who, err := ours.Holder(ctx, theirs.ID())
		if err != nil || who.Connections == 0 {
			t.Errorf("Holder = %+v, %v", who, err)
		}
	})
}

func TestHolderWithoutTheRight(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.MustDo("ACL", "SETUSER", "locks", "on", ">password", "~*", "&*", "+@all", "-client|list")
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Redis.Username, o.Redis.Password = "locks", "password" })
	_, err := e.Holder(testkit.Soon(t), e.ID())
	if !errors.Is(err, engine.ErrRefused) || !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Holder: %v, want ErrRefused", err)
	}
	testkit.Mentions(t, err, "NOPERM", "client|list")
	server.Freeze()
	_, err = e.Holder(context.Background(), e.ID())
	server.Thaw()
	if !errors.Is(err, engine.ErrUncertain) {
		t.Errorf("Holder of a frozen server: %v, want ErrUncertain", err)
	}
	e.Close()
	testkit.WantIs(t, "Holder of a closed engine", testkit.ResultOf(e.Holder(testkit.Soon(t), e.ID())), engine.ErrClosed)
}

// Every connection has the name, with RESP2 too; with the identity "-" the name is as it was given.
func TestIdentityIsInTheNamesOfConnections(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*engine.Options){"RESP3": func(*engine.Options) {}, "RESP2": func(o *engine.Options) { o.Redis.AlwaysRESP2 = true }} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			count := func(want string) (n int) {
				for _, kind := range []string{"NORMAL", "PUBSUB"} {
					n += strings.Count(server.MustDo("CLIENT", "LIST", "TYPE", kind).Text, " name="+want+" ")
				}
				return n
			}
			for _, identity := range []string{"me", "-"} {
				e := testkit.Connect(t, server.Addr(), change, func(o *engine.Options) { o.Identity, o.Redis.ClientName = identity, "shop" })
				want := "shop/" + e.ID() + "/me"
				if identity == "-" {
					want = "shop"
				}
				held := testkit.MustLock(t, testkit.Connect(t, server.Addr()).Mutex("a"))
				waiter := e.Mutex("a").LockAsync(testkit.Soon(t))
				// for commands, for messages, for queries
				redistest.Await(t, "three connections called "+want, func() bool { return count(want) >= 3 })
				testkit.MustUnlock(t, held)
				testkit.MustUnlock(t, testkit.MustWait(t, waiter))
			}
		})
	}
}

func TestIdentityThatRedisWouldRefuse(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for identity, says := range map[string]string{"my gateway": `' '`, "a\nb": `'\n'`, "größe": `'ö'`, "a\x7f": `'\x7f'`, strings.Repeat("x", 129): "128"} {
		opts := testkit.OptionsFor(server.Addr())
		opts.Identity = identity
		_, err := engine.Open(testkit.Soon(t), opts)
		if !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("Open with the identity %q: %v, want ErrInvalid", identity, err)
		}
		testkit.Mentions(t, err, "Identity", says)
	}
}

// With Sentinel the master's connections are asked, also after it has changed.
func TestHolderWithSentinel(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t, 1)
	connect := func(identity string) *engine.Engine {
		return testkit.Connect(t, s.Master(), func(o *engine.Options) {
			o.Identity, o.Redis.InitAddress, o.Redis.Sentinel = identity, s.Addrs(), rueidis.SentinelOption{MasterSet: redistest.MasterName}
		})
	}
	ours, theirs := connect("ours"), connect("theirs")
	for _, when := range []string{"at first", "after a switch"} {
		testkit.MustUnlock(t, testkit.MustLock(t, theirs.Mutex("a")))
		var who engine.Holder
		var err error
		redistest.Await(t, "an answer of the master "+when, func() bool {
			who, err = ours.Holder(testkit.Soon(t), theirs.ID())
			return err == nil && who.Connections > 0
		})
		if who.Identity != "theirs" {
			t.Errorf("%s: Holder = %+v, %v", when, who, err)
		}
		if when == "at first" {
			s.Failover()
		}
	}
}
