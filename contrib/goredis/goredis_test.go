package goredis_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/auth"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"

	"github.com/wheellock/wheellock/contrib/goredis"
)

// open makes an engine from a client until the end of the test.
func open(t *testing.T, client redis.UniversalClient) *engine.Engine {
	t.Helper()
	t.Cleanup(func() { client.Close() })
	opts, err := goredis.Options(client)
	testkit.Must(t, err)
	e := testkit.MustOpen(t, func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, opts) })
	t.Cleanup(func() { e.Close() })
	return e
}

// sees checks that the client and its engine work on the same data: the client sees a lock of the engine.
func sees(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	e := open(t, client)
	hold := testkit.MustLock(t, e.Mutex("stock:7"))
	if owners, err := client.HKeys(testkit.Soon(t), "stock:7").Result(); err != nil || len(owners) != 1 || owners[0] != hold.TenureID() {
		t.Errorf("the client sees the owners %q, %v; want %s", owners, err, hold.TenureID())
	}
	testkit.MustUnlock(t, hold)
}

// admit adds a user with the password "first" who may do all.
func admit(server *redistest.Server, user string) {
	server.MustDo("ACL", "SETUSER", user, "on", ">first", "~*", "&*", "+@all")
}

func TestAClientsOptionsAreTakenOver(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admit(server, "shop")
	client := redis.NewClient(&redis.Options{
		Addr: server.Addr(), Username: "shop", Password: "first", DB: 3, ClientName: "gateway", Protocol: 2,
	})
	e := open(t, client)
	hold := testkit.MustLock(t, e.Mutex("stock:7"))
	if server.MustDo("EXISTS", "stock:7").Int != 0 || client.Exists(t.Context(), "stock:7").Val() != 1 {
		t.Error("the lock is not in the client's database")
	}
	testkit.MustUnlock(t, hold)
	ours := 0
	for line := range strings.Lines(server.MustDo("CLIENT", "LIST").Text) {
		if !strings.Contains(line, "name=gateway/"+e.ID()) {
			continue
		}
		ours++
		if words := strings.Fields(line); !slices.Contains(words, "user=shop") || !slices.Contains(words, "resp=2") {
			t.Errorf("a connection of another user or protocol: %s", line)
		}
	}
	if ours == 0 {
		t.Error("no connection of the engine has the client's name")
	}
}

// A client over TLS: its own certificates, and a server that wants one of the client.
func TestTLS(t *testing.T) {
	t.Parallel()
	authority := testkit.NewAuthority(t)
	tomorrow := time.Now().Add(24 * time.Hour)
	_, addr := authority.Serve(authority.Issue("127.0.0.1", tomorrow), "--tls-auth-clients", "yes")
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authority.Pool(), Certificates: []tls.Certificate{authority.Issue("shop", tomorrow)}}
	sees(t, redis.NewClient(&redis.Options{Addr: addr, TLSConfig: config}))
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "redis")
	redistest.Start(t, "--unixsocket", path)
	sees(t, redis.NewClient(&redis.Options{Addr: path}))
}

// A dialer of one's own makes the engine's connections, with TLS or without as it likes; one that go-redis makes by itself does not.
func TestDialers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var dialed atomic.Int64
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialed.Add(1)
		if _, bounded := ctx.Deadline(); !bounded || network != "tcp" || addr != "redis.internal:6379" {
			t.Errorf("dialed %s %s, with a time-out: %t", network, addr, bounded)
		}
		return (&net.Dialer{}).DialContext(ctx, network, server.Addr())
	}
	e := open(t, redis.NewClient(&redis.Options{Addr: "redis.internal:6379", Dialer: dial}))
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("stock:7")))
	if dialed.Load() == 0 {
		t.Error("the engine did not use the dialer")
	}

	plain := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer plain.Close()
	if opts, err := goredis.Options(plain); err != nil || opts.Redis.DialCtxFn != nil {
		t.Errorf("a client without a dialer: %v, a dialer: %t", err, opts.Redis.DialCtxFn != nil)
	}
}

// NewDialer is what a program may have for its tunnel: its name is that of go-redis' own.
func NewDialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("through the tunnel") }
}

// Only the dialer that a client has because none was set is left out: a direct connection in the place of another one would send the
// password past a tunnel.
func TestADialerIsKeptWhateverMadeIt(t *testing.T) {
	t.Parallel()
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	for name, c := range map[string]struct {
		options redis.Options
		kept    bool
	}{
		"of a function NewDialer":       {redis.Options{Dialer: NewDialer()}, true},
		"a method's":                    {redis.Options{Dialer: (&net.Dialer{}).DialContext}, true},
		"none":                          {redis.Options{}, false},
		"none, with TLS":                {redis.Options{TLSConfig: secure}, false},
		"none, over a unix socket":      {redis.Options{Network: "unix", Addr: "/run/redis.sock"}, true}, // the engine's, for that network
		"none, with time-outs and pool": {redis.Options{DialTimeout: time.Minute, PoolSize: 3}, false},
	} {
		t.Run(name, func(t *testing.T) {
			client := redis.NewClient(&c.options)
			defer client.Close()
			opts, err := goredis.Options(client)
			if err != nil || (opts.Redis.DialCtxFn != nil) != c.kept {
				t.Errorf("%v, a dialer: %t, want %t", err, opts.Redis.DialCtxFn != nil, c.kept)
			}
		})
	}
}

// changing is a provider of credentials whose password can change.
type changing struct {
	password atomic.Pointer[string]
	asked    atomic.Int64
	open     atomic.Int64 // subscriptions
}

func (c *changing) set(password string) { c.password.Store(&password) }

func (c *changing) now() (user, password string) {
	c.asked.Add(1)
	return "shop", *c.password.Load()
}

// Subscribe implements auth.StreamingCredentialsProvider.
func (c *changing) Subscribe(auth.CredentialsListener) (auth.Credentials, auth.UnsubscribeFunc, error) {
	c.open.Add(1)
	return auth.NewBasicCredentials(c.now()), func() error { c.open.Add(-1); return nil }, nil
}

// A provider is asked for each connection, so the engine comes back when the password has changed and its connections are cut. Of several
// providers the same one is asked as by go-redis.
func TestProvidersOfCredentials(t *testing.T) {
	t.Parallel()
	wrong := func() (user, password string) { t.Error("the wrong provider is asked"); return "", "" }
	for name, options := range map[string]func(c *changing, o *redis.Options){
		"plain": func(c *changing, o *redis.Options) { o.CredentialsProvider = c.now },
		"context": func(c *changing, o *redis.Options) {
			o.CredentialsProvider = wrong
			o.CredentialsProviderContext = func(ctx context.Context) (user, password string, err error) {
				user, password = c.now()
				return user, password, ctx.Err()
			}
		},
		"streaming": func(c *changing, o *redis.Options) {
			o.CredentialsProvider = wrong
			o.StreamingCredentialsProvider = c
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			admit(server, "shop")
			provider := &changing{}
			provider.set("first")
			o := &redis.Options{Addr: server.Addr(), Password: "old"}
			options(provider, o)
			client := redis.NewClient(o)
			e := open(t, client) // the client itself makes no connection here
			testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("stock:7")))
			asked := provider.asked.Load()
			server.MustDo("ACL", "SETUSER", "shop", "resetpass", ">second")
			provider.set("second")
			server.KillClients("normal")
			testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("stock:8")))
			if provider.asked.Load() == asked {
				t.Error("the provider was not asked again")
			}
			redistest.Await(t, "the end of all subscriptions", func() bool { return provider.open.Load() == 0 })
		})
	}
}

// go-redis sends no user without a password, so a server that does not know the user serves the client; and the engine.
func TestAUserWithoutAPasswordIsNotSent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	sees(t, redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "nobody"}))
	sees(t, redis.NewClient(&redis.Options{Addr: server.Addr(), CredentialsProvider: func() (user, password string) { return "nobody", "" }}))
}

// A cluster's client: the engine finds all of its masters.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs()[:2], ClientName: "gateway"})
	e := open(t, client)
	for _, name := range testkit.Spread("stock", 6) {
		hold := testkit.MustLock(t, e.Mutex(name))
		if owners, err := client.HKeys(testkit.Soon(t), name).Result(); err != nil || len(owners) != 1 || owners[0] != hold.TenureID() {
			t.Errorf("%s: the client sees the owners %q, %v; want %s", name, owners, err, hold.TenureID())
		}
		testkit.MustUnlock(t, hold)
	}
	sees(t, redis.NewUniversalClient(&redis.UniversalOptions{Addrs: cluster.Addrs()}))
}

// What cannot be taken over is refused, and the error says what to do.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{})
	t.Cleanup(func() { client.Close() })
	pipeliner, err := client.AutoPipeline()
	testkit.Must(t, err)
	hook := func(context.Context, *redis.Conn) error { return nil }
	for name, c := range map[string]struct {
		client redis.UniversalClient
		says   string
	}{
		"failover":         {redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "locks", SentinelAddrs: []string{"a:1"}}), "Sentinel.MasterSet"},
		"failover cluster": {redis.NewFailoverClusterClient(&redis.FailoverOptions{MasterName: "locks", SentinelAddrs: []string{"a:1"}, DB: 3}), "Sentinel.MasterSet"},
		"ring":             {redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": "a:1"}}), "one of the servers"},
		"hook":             {redis.NewClient(&redis.Options{OnConnect: hook}), "OnConnect"},
		"hook of cluster":  {redis.NewClusterClient(&redis.ClusterOptions{OnConnect: hook}), "OnConnect"},
		"nodes": {redis.NewClusterClient(&redis.ClusterOptions{
			NewClient: func(o *redis.Options) *redis.Client { return redis.NewClient(o) },
		}), "NewClient"},
		"slots": {redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: []string{"a:1"}, ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) { return nil, nil },
		}), "ClusterSlots"},
		"nowhere":     {redis.NewClusterClient(&redis.ClusterOptions{}), "Addrs"},
		"pipeliner":   {pipeliner, "AutoPipeliner"},
		"nil":         {nil, "nil"},
		"nil client":  {(*redis.Client)(nil), "redis.Client"},
		"nil cluster": {(*redis.ClusterClient)(nil), "redis.ClusterClient"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.client != nil && !strings.HasPrefix(name, "nil") {
				t.Cleanup(func() { c.client.Close() })
			}
			if _, err := goredis.Options(c.client); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want one that says %q", err, c.says)
			}
		})
	}
}
