package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
)

// Authority signs certificates.
type Authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes one.
func NewAuthority(t *testing.T) *Authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the locks' authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	Must(t, err)
	cert, err := x509.ParseCertificate(der)
	Must(t, err)
	return &Authority{t, cert, key}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Must(t, err)
	return key
}

// Issue makes a certificate for a host, good until then.
func (a *Authority) Issue(host string, until time.Time) tls.Certificate {
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
	Must(a.t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Pool is the authority as clients trust it.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Args are how a server is told to use a certificate.
func (a *Authority) Args(cert tls.Certificate) []string {
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
	Must(a.t, err)
	return []string{
		"tls-ca-cert-file", write("ca.pem", "CERTIFICATE", a.cert.Raw),
		"tls-cert-file", write("cert.pem", "CERTIFICATE", cert.Certificate[0]),
		"tls-key-file", write("key.pem", "PRIVATE KEY", key),
	}
}

// Serve starts a server that speaks TLS besides, with this certificate, and returns the address of that.
func (a *Authority) Serve(cert tls.Certificate, args ...string) (server *redistest.Server, addr string) {
	a.t.Helper()
	flags, addr := a.flags(cert)
	return redistest.Start(a.t, append(flags, args...)...), addr
}

// ServeSentinel starts the sentinel of a master that it reaches by TLS, as Serve starts a server.
func (a *Authority) ServeSentinel(cert tls.Certificate, master string) (sentinel *redistest.Server, addr string) {
	a.t.Helper()
	flags, addr := a.flags(cert)
	return redistest.StartOneSentinel(a.t, master, 1, append(flags, "--tls-replication", "yes")...), addr
}

// flags are those of a server that speaks TLS besides, at this address.
func (a *Authority) flags(cert tls.Certificate) (flags []string, addr string) {
	a.t.Helper()
	port := strconv.Itoa(redistest.FreePort(a.t))
	flags = []string{"--tls-port", port, "--tls-auth-clients", "no"}
	for i, word := range a.Args(cert) {
		if i%2 == 0 {
			word = "--" + word
		}
		flags = append(flags, word)
	}
	return flags, net.JoinHostPort("127.0.0.1", port)
}
