package faults_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the locks' authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t, cert, key}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue makes a certificate for a host, good until then.
func (a *authority) issue(host string, until time.Time) tls.Certificate {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: host},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	key := newKey(a.t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// pool is the authority as clients trust it.
func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// args are how a server is told to use a certificate.
func (a *authority) args(cert tls.Certificate) []string {
	a.t.Helper()
	dir := a.t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			a.t.Fatal(err)
		}
		return path
	}
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		a.t.Fatal(err)
	}
	return []string{
		"tls-ca-cert-file", write("ca.pem", "CERTIFICATE", a.cert.Raw),
		"tls-cert-file", write("cert.pem", "CERTIFICATE", cert.Certificate[0]),
		"tls-key-file", write("key.pem", "PRIVATE KEY", key),
	}
}

// serve starts a server that speaks TLS besides, with this certificate, and returns the address of that.
func (a *authority) serve(cert tls.Certificate, args ...string) (server *redistest.Server, addr string) {
	a.t.Helper()
	port := strconv.Itoa(redistest.FreePort(a.t))
	flags := []string{"--tls-port", port, "--tls-auth-clients", "no"}
	for i, word := range a.args(cert) {
		if i%2 == 0 {
			word = "--" + word
		}
		flags = append(flags, word)
	}
	return redistest.Start(a.t, append(flags, args...)...), net.JoinHostPort("127.0.0.1", port)
}

// rediss are options of a URL for TLS.
func rediss(t *testing.T, addr string, change func(*tls.Config)) engine.Options {
	t.Helper()
	opts, err := engine.ParseURL("rediss://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	change(opts.Redis.TLSConfig)
	return opts
}

// Over TLS everything is as it is without: commands, messages, a connection that breaks, replicas.
func TestFaultTLS(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	good := time.Now().Add(time.Hour)
	server, addr := ca.serve(ca.issue("127.0.0.1", good), "--tls-auth-clients", "yes")
	opts := rediss(t, addr, func(c *tls.Config) {
		c.RootCAs, c.Certificates = ca.pool(), []tls.Certificate{ca.issue("gateway", good)}
	})
	opts.PollCap = time.Hour
	e := openLimited(t, opts)
	outside := testkit.NewOutsider(t, server.Addr())
	outside.Take("taken", time.Hour)
	waits := e.Mutex("taken").LockAsync(testkit.Soon(t))
	redistest.Await(t, "a subscription", func() bool { return server.Subscriptions().Count() == 1 })
	outside.Free("taken")
	mustGet(t, waits)
	h := testkit.MustLock(t, e.Mutex("held"))
	server.KillClients("normal")
	testkit.MustUnlock(t, h)
	testkit.CheckQuiet(t, server, e, 0)
}

// A server comes back with a certificate that is not good: nothing is sent to it, and callers are told so; with a good
// one all goes on.
func TestFaultTLSCertificateGoesBad(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	good := ca.issue("127.0.0.1", time.Now().Add(time.Hour))
	server, addr := ca.serve(good)
	e := openLimited(t, rediss(t, addr, func(c *tls.Config) { c.RootCAs = ca.pool() }))
	h := testkit.MustLock(t, e.Mutex("held"))
	use := func(cert tls.Certificate) {
		server.MustDo(append([]string{"CONFIG", "SET"}, ca.args(cert)...)...)
		server.KillClients("normal")
	}
	use(ca.issue("127.0.0.1", time.Now().Add(-time.Hour)))
	redistest.Await(t, "the link to be down", func() bool {
		if h, err := e.Mutex("another").TryLock(testkit.Soon(t)); err == nil {
			testkit.MustUnlock(t, h)
		}
		return !e.Stats().Up
	})
	for range 20 {
		if _, err := e.Mutex("another").TryLock(testkit.Soon(t)); !errors.Is(err, engine.ErrNotSent) {
			t.Errorf("TryLock: %v, want ErrNotSent", err)
		}
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
	ca, other := newAuthority(t), newAuthority(t)
	good := time.Now().Add(time.Hour)
	server, addr := ca.serve(ca.issue("127.0.0.1", good))
	trust := func(c *tls.Config) { c.RootCAs = ca.pool() }
	t.Run("an authority that is not trusted", func(t *testing.T) {
		mustNotOpen(t, rediss(t, addr, func(c *tls.Config) { c.RootCAs = other.pool() }), engine.ErrNotSent, addr, "unknown authority", "Redis.TLSConfig.RootCAs")
	})
	t.Run("a certificate for another host", func(t *testing.T) {
		mustNotOpen(t, rediss(t, addr, func(c *tls.Config) { trust(c); c.ServerName = "redis.example" }), engine.ErrNotSent, addr, "redis.example", "Redis.TLSConfig.ServerName")
	})
	t.Run("a certificate that has expired", func(t *testing.T) {
		_, addr := ca.serve(ca.issue("127.0.0.1", time.Now().Add(-time.Hour)))
		mustNotOpen(t, rediss(t, addr, trust), engine.ErrNotSent, addr, "expired")
	})
	t.Run("a server that wants a certificate of ours", func(t *testing.T) {
		_, addr := ca.serve(ca.issue("127.0.0.1", good), "--tls-auth-clients", "yes")
		mustNotOpen(t, rediss(t, addr, trust), engine.ErrRefused, addr, "certificate", "Redis.TLSConfig.Certificates")
		mustNotOpen(t, rediss(t, addr, func(c *tls.Config) { trust(c); c.Certificates = []tls.Certificate{other.issue("gateway", good)} }), engine.ErrRefused, addr, "certificate", "Redis.TLSConfig.Certificates")
	})
	t.Run("a server that speaks no TLS", func(t *testing.T) {
		mustNotOpen(t, rediss(t, server.Addr(), trust), engine.ErrUnavailable, server.Addr(), "does it speak TLS there?")
	})
	t.Run("a server that speaks nothing else", func(t *testing.T) {
		mustNotOpen(t, testkit.OptionsFor(addr), engine.ErrRefused, addr, "TLS")
	})
	if clients := server.ClientCount("normal"); clients != 0 {
		t.Errorf("%d connections are left", clients)
	}
}
