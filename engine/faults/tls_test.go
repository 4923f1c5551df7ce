package faults_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// rediss are options of a URL for TLS.
func rediss(t *testing.T, addr string, change func(*tls.Config)) engine.Options {
	t.Helper()
	opts, err := engine.ParseURL("rediss://" + addr)
	testkit.Must(t, err)
	change(opts.Redis.TLSConfig)
	return opts
}

// Over TLS everything is as it is without: commands, messages, a connection that breaks, replicas.
func TestFaultTLS(t *testing.T) {
	t.Parallel()
	ca := testkit.NewAuthority(t)
	good := time.Now().Add(time.Hour)
	server, addr := ca.Serve(ca.Issue("127.0.0.1", good), "--tls-auth-clients", "yes")
	opts := rediss(t, addr, func(c *tls.Config) {
		c.RootCAs, c.Certificates = ca.Pool(), []tls.Certificate{ca.Issue("gateway", good)}
	})
	opts.PollCap = time.Hour
	e := openLimited(t, opts)
	outside := testkit.NewOutsider(t, server.Addr())
	outside.Take("taken", time.Hour)
	waits := e.Mutex("taken").LockAsync(testkit.Soon(t))
	redistest.Await(t, "a subscription", func() bool { return server.Subscriptions().Count() > 0 })
	outside.Free("taken")
	mustGet(t, waits)
	h := testkit.MustLock(t, e.Mutex("held"))
	server.KillClients("normal")
	testkit.MustUnlock(t, h)
	testkit.CheckQuiet(t, server, e, 0)
}

// With rediss:// the sentinels are asked by TLS too, or without it if the URL says so. Each server is known by its own address: there is
// no certificate for another.
func TestFaultTLSSentinel(t *testing.T) {
	t.Parallel()
	ca := testkit.NewAuthority(t)
	cert := ca.Issue("127.0.0.1", time.Now().Add(time.Hour))
	_, master := ca.Serve(cert)
	sentinel, private := ca.ServeSentinel(cert, master)
	for _, url := range []string{private + "?master_set=", sentinel.Addr() + "?sentinel_tls=false&master_set="} {
		e := openLimited(t, rediss(t, url+redistest.MasterName, func(c *tls.Config) { c.RootCAs = ca.Pool() }))
		testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("held")))
	}
	for _, url := range []string{"rediss://" + private + "?sentinel_tls=perhaps&master_set=m", "redis://" + private + "?sentinel_tls=true&master_set=m"} {
		testkit.WantIs(t, "ParseURL", testkit.ResultOf(engine.ParseURL(url)), engine.ErrInvalid)
	}
}

// A server comes back with a certificate that is not good: nothing is sent to it, and callers are told so; with a good
// one all goes on.
func TestFaultTLSCertificateGoesBad(t *testing.T) {
	t.Parallel()
	ca := testkit.NewAuthority(t)
	good := ca.Issue("127.0.0.1", time.Now().Add(time.Hour))
	server, addr := ca.Serve(good)
	e := openLimited(t, rediss(t, addr, func(c *tls.Config) { c.RootCAs = ca.Pool() }))
	h := testkit.MustLock(t, e.Mutex("held"))
	use := func(cert tls.Certificate) {
		server.MustDo(append([]string{"CONFIG", "SET"}, ca.Args(cert)...)...)
		server.KillClients("normal")
	}
	use(ca.Issue("127.0.0.1", time.Now().Add(-time.Hour)))
	redistest.Await(t, "the link to be down", func() bool {
		if h, err := e.Mutex("another").TryLock(testkit.Soon(t)); err == nil {
			testkit.MustUnlock(t, h)
		}
		return !e.Stats().Up
	})
	for range 20 {
		testkit.WantIs(t, "TryLock", testkit.ResultOf(e.Mutex("another").TryLock(testkit.Soon(t))), engine.ErrNotSent)
	}
	waits := e.Mutex("another").LockAsync(testkit.Soon(t))
	use(good)
	mustGet(t, waits)
	testkit.MustUnlock(t, h)
	testkit.CheckQuiet(t, server, e, 0)
}

// What is wrong with a certificate, or with the choice of TLS, is said at Open, with what to do about it; nothing
// falls back to a connection that is not private.
func TestFaultTLSOpenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	ca, other := testkit.NewAuthority(t), testkit.NewAuthority(t)
	good := time.Now().Add(time.Hour)
	server, addr := ca.Serve(ca.Issue("127.0.0.1", good))
	trust := func(c *tls.Config) { c.RootCAs = ca.Pool() }
	t.Run("an authority that is not trusted", func(t *testing.T) {
		mustNotOpen(t, rediss(t, addr, func(c *tls.Config) { c.RootCAs = other.Pool() }), engine.ErrNotSent, addr, "unknown authority", "Redis.TLSConfig.RootCAs")
	})
	t.Run("a certificate for another host", func(t *testing.T) {
		mustNotOpen(t, rediss(t, addr, func(c *tls.Config) { trust(c); c.ServerName = "redis.example" }), engine.ErrNotSent, addr, "redis.example", "Redis.TLSConfig.ServerName")
	})
	t.Run("a certificate that has expired", func(t *testing.T) {
		_, addr := ca.Serve(ca.Issue("127.0.0.1", time.Now().Add(-time.Hour)))
		mustNotOpen(t, rediss(t, addr, trust), engine.ErrNotSent, addr, "expired")
	})
	t.Run("a server that wants a certificate of ours", func(t *testing.T) {
		_, addr := ca.Serve(ca.Issue("127.0.0.1", good), "--tls-auth-clients", "yes")
		mustNotOpen(t, rediss(t, addr, trust), engine.ErrRefused, addr, "certificate", "Redis.TLSConfig.Certificates")
		mustNotOpen(t, rediss(t, addr, func(c *tls.Config) { trust(c); c.Certificates = []tls.Certificate{other.Issue("gateway", good)} }), engine.ErrRefused, addr, "certificate", "Redis.TLSConfig.Certificates")
	})
	t.Run("a server that says so, and does not hang up before that has arrived", func(t *testing.T) {
		l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
			Certificates: []tls.Certificate{ca.Issue("127.0.0.1", good)}, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12,
		})
		testkit.Must(t, err)
		defer l.Close()
		go func() {
			for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
				defer conn.Close()
				conn.(*tls.Conn).Handshake()
			}
		}()
		mustNotOpen(t, rediss(t, l.Addr().String(), trust), engine.ErrRefused, "it is the server who says so", "Redis.TLSConfig.Certificates")
	})
	t.Run("a server that speaks no TLS", func(t *testing.T) {
		mustNotOpen(t, rediss(t, server.Addr(), trust), engine.ErrUnavailable, server.Addr(), "does it speak TLS there?")
	})
	t.Run("a server that speaks nothing else", func(t *testing.T) {
		mustNotOpen(t, testkit.OptionsFor(addr), engine.ErrRefused, addr, "TLS")
	})
	redistest.Await(t, "no connection to be left", func() bool { return server.ClientCount("normal") == 0 })
}

// A function of the TLS configuration that never returns delays Close no more than a server that never answers, and Open not at all.
func TestFaultTLSNobodyWaitsForAFunctionThatHangs(t *testing.T) {
	t.Parallel()
	ca := testkit.NewAuthority(t)
	cert := ca.Issue("127.0.0.1", time.Now().Add(time.Hour))
	for what, hang := range map[string]func(c *tls.Config, hangs func()){
		"GetClientCertificate": func(c *tls.Config, hangs func()) {
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				hangs()
				return &cert, nil
			}
		},
		"VerifyConnection": func(c *tls.Config, hangs func()) {
			c.VerifyConnection = func(tls.ConnectionState) error {
				hangs()
				return nil
			}
		},
		"VerifyPeerCertificate": func(c *tls.Config, hangs func()) {
			c.VerifyPeerCertificate = func([][]byte, [][]*x509.Certificate) error {
				hangs()
				return nil
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server, addr := ca.Serve(cert, "--tls-auth-clients", "yes")
			over, hung := make(chan struct{}), make(chan struct{}, 100)
			defer close(over)
			var hangsFrom atomic.Int32 // the call
			opts := rediss(t, addr, func(c *tls.Config) {
				c.RootCAs, c.Certificates = ca.Pool(), []tls.Certificate{cert}
				hang(c, func() {
					if hangsFrom.Dec() < 0 {
						hung <- struct{}{}
						<-over
					}
				})
			})
			for dials := range int32(2) {
				hangsFrom.Store(dials)
				ctx, stop := context.WithTimeout(t.Context(), time.Second/2)
				e, err := engine.Open(ctx, opts)
				stop()
				if err == nil { // it dials once
					e.Close()
				} else if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, engine.ErrUnavailable) {
					t.Errorf("Open = %v, want the deadline", err)
				}
			}
			hangsFrom.Store(1000)
			e, err := engine.Open(testkit.Soon(t), opts)
			testkit.Must(t, err)
			testkit.MustLock(t, e.Mutex(what))
			hangsFrom.Store(0)
			server.KillClients("normal")
			e.Mutex("another").LockAsync(t.Context())
			testkit.Receive(t, "a handshake", hung)
			closed := make(chan struct{})
			go func() {
				e.Close()
				close(closed)
			}()
			testkit.Receive(t, "the end of Close", closed)
		})
	}
}
