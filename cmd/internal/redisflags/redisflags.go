// Package redisflags reads from flags how to reach Redis, for the programs of this module. The flags for TLS are called as
// redis-cli's are.
package redisflags

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/wheellock/wheellock/engine"
)

// Flags are how to reach a Redis, in a form that can be sent to another process.
type Flags struct {
	URL          string `json:"url"`                     // may hold a password: it is never shown, nor put on a command line
	User         string `json:"user,omitempty"`          // in place of the URL's
	PasswordFile string `json:"password_file,omitempty"` // its first line is the password, in place of the URL's
	CA           string `json:"ca,omitempty"`            // files in PEM
	Cert         string `json:"cert,omitempty"`
	Key          string `json:"key,omitempty"`
}

// URLVariable is the environment's name for --redis.
const URLVariable = "WHEELLOCK_REDIS"

// PasswordVariable is the environment variable with the password, where neither the URL nor a file has one. Without it redis-cli's is taken.
const PasswordVariable = "WHEELLOCK_PASSWORD"

// SentinelPasswordVariable is the environment variable with the password of the sentinels, which are never sent the server's.
const SentinelPasswordVariable = "WHEELLOCK_SENTINEL_PASSWORD"

// Define declares the flags, without the one for the URL: its default is the program's matter.
func (f *Flags) Define(flags *flag.FlagSet) {
	flags.StringVar(&f.User, "user", "", "the `USER` to log in as, in place of the URL's")
	flags.StringVar(&f.PasswordFile, "password-file", "", "`FILE` whose first line is the password, in place of the URL's; without both, "+PasswordVariable+" or REDISCLI_AUTH is it. That of sentinels is "+SentinelPasswordVariable)
	flags.StringVar(&f.CA, "cacert", "", "rediss: `FILE` of the authorities to trust, in PEM, in place of the system's")
	flags.StringVar(&f.Cert, "cert", "", "rediss: `FILE` of a certificate of our own, in PEM")
	flags.StringVar(&f.Key, "key", "", "rediss: `FILE` of its private key, in PEM")
}

// Options are the flags as an engine takes them. Its errors never quote the URL.
func (f *Flags) Options() (engine.Options, error) {
	o, err := engine.ParseURL(f.URL)
	if err != nil {
		return o, fmt.Errorf("--redis: %w", err)
	}
	r := &o.Redis
	if f.User != "" {
		r.Username = f.User
	}
	if f.PasswordFile != "" {
		text, err := os.ReadFile(f.PasswordFile)
		if err != nil {
			return o, fmt.Errorf("--password-file: %w", err)
		}
		line, _, _ := strings.Cut(string(text), "\n")
		r.Password = strings.TrimSuffix(line, "\r")
	}
	if f.PasswordFile == "" && r.Password == "" {
		r.Password = cmp.Or(os.Getenv(PasswordVariable), os.Getenv("REDISCLI_AUTH"))
	}
	r.Sentinel.Password = os.Getenv(SentinelPasswordVariable)
	if f.CA+f.Cert+f.Key != "" {
		err = f.secure(r.TLSConfig)
	}
	return o, err
}

// secure sets the certificates to trust, and the one to show.
func (f *Flags) secure(c *tls.Config) error {
	if c == nil {
		return errors.New("--cacert, --cert and --key are for TLS: want a URL that begins with rediss://")
	}
	if f.CA != "" {
		text, err := os.ReadFile(f.CA)
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
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return fmt.Errorf("--cert, --key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return nil
}
