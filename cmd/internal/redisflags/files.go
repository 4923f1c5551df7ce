package redisflags

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/redis/rueidis"
)

// The files of the flags are read at the start, so that what is wrong is told at once, and again at each handshake: who changes a password or
// a certificate writes it into the file while programs run. A file that cannot be read, or is empty, fails that handshake alone.

// pipes are the files that can be read once, such as that of <(COMMAND), each with what reads it.
var pipes sync.Map

// isPipe reports whether a file can be read once.
func isPipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular()
}

// Piped reports whether one of the files is a pipe, so that another process cannot read it.
func (f *Flags) Piped() bool {
	return slices.ContainsFunc([]string{f.PasswordFile, f.CA, f.Cert, f.Key}, isPipe)
}

// contents reads a file.
func contents(path string) ([]byte, error) {
	read := func() ([]byte, error) { return os.ReadFile(path) }
	if !isPipe(path) {
		return read()
	}
	once, _ := pipes.LoadOrStore(path, sync.OnceValues(read))
	return once.(func() ([]byte, error))()
}

// password reads the password.
func (f *Flags) password() (string, error) {
	text, err := contents(f.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("--password-file: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", fmt.Errorf("--password-file %s: its first line is empty", f.PasswordFile)
	}
	return line, nil
}

// askPassword has each handshake with a server read the password. Those with sentinels ask for credentials too, and are not sent the server's.
func (f *Flags) askPassword(r *rueidis.ClientOption) {
	var sentinels sync.Map // their addresses: before a sentinel is dialled its Dialer says so
	user, theirs := r.Username, rueidis.AuthCredentials{Username: r.Sentinel.Username, Password: r.Sentinel.Password}
	r.Sentinel.Dialer.Control = func(_, addr string, _ syscall.RawConn) error {
		sentinels.Store(addr, true)
		return nil
	}
	r.AuthCredentialsFn = func(c rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		if _, is := sentinels.Load(c.Address.String()); is {
			return theirs, nil
		}
		password, err := f.password()
		if err != nil {
			err = &net.OpError{Op: "dial", Net: c.Address.Network(), Err: err} // no command was sent
		}
		return rueidis.AuthCredentials{Username: user, Password: password}, err
	}
}

// dial connects with the certificates of now. config is nil for sentinels without TLS.
func (f *Flags) dial(ctx context.Context, addr string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return dialer.DialContext(ctx, "tcp", addr)
	}
	config = config.Clone()
	if err := f.secure(config); err != nil {
		return nil, err
	}
	return (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, "tcp", addr)
}

// secure sets the certificates to trust, and the one to show.
func (f *Flags) secure(c *tls.Config) error {
	if f.CA != "" {
		text, err := contents(f.CA)
		if err != nil {
			return fmt.Errorf("--cacert: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("--cacert %s: it has no certificate in PEM", f.CA)
		}
	}
	if (f.Cert == "") != (f.Key == "") {
		return errors.New("--cert and --key belong together: a certificate and its private key")
	}
	if f.Cert != "" {
		cert, err := contents(f.Cert)
		key, unread := contents(f.Key)
		if err = cmp.Or(err, unread); err != nil {
			return fmt.Errorf("--cert, --key: %w", err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return fmt.Errorf("--cert, --key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return nil
}
