// Package redisflags reads from flags how to reach Redis, for the programs of this module. The flags for TLS are called as
// redis-cli's are.
package redisflags

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
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
	flags.StringVar(&f.PasswordFile, "password-file", "", "`FILE` whose first line is the password, in place of the URL's, read again at each handshake; without both, "+PasswordVariable+" or REDISCLI_AUTH is it. That of sentinels is "+SentinelPasswordVariable)
	flags.StringVar(&f.CA, "cacert", "", "rediss: `FILE` of the authorities to trust, in PEM, in place of the system's")
	flags.StringVar(&f.Cert, "cert", "", "rediss: `FILE` of a certificate of our own, in PEM")
	flags.StringVar(&f.Key, "key", "", "rediss: `FILE` of its private key, in PEM")
}

// Options are the flags as an engine takes them. Its errors never quote the URL. The files are read now, and again at each handshake
// (files.go).
func (f *Flags) Options() (engine.Options, error) {
	o, err := engine.ParseURL(f.URL)
	if err != nil {
		return o, fmt.Errorf("--redis: %w", err)
	}
	r := &o.Redis
	if f.User != "" {
		r.Username = f.User
	}
	r.Sentinel.Password = os.Getenv(SentinelPasswordVariable)
	switch {
	case f.PasswordFile != "":
		if _, err := f.password(); err != nil {
			return o, err
		}
		f.askPassword(r)
	case r.Password == "":
		r.Password = cmp.Or(os.Getenv(PasswordVariable), os.Getenv("REDISCLI_AUTH"))
	}
	if f.CA+f.Cert+f.Key != "" {
		if r.TLSConfig == nil {
			return o, errors.New("--cacert, --cert and --key are for TLS: want a URL that begins with rediss://")
		}
		r.DialCtxFn = f.dial
		err = f.secure(r.TLSConfig)
	}
	return o, err
}

// NoURL complains of a word that was meant for --redis, and stands in the place of a name. It may hold a password. Other URLs are names like any.
func NoURL(word string) error {
	scheme, _, is := strings.Cut(word, "://")
	if is && slices.Contains([]string{"redis", "rediss", "valkey", "valkeys", "unix"}, strings.ToLower(scheme)) {
		return errors.New("a URL stands in the place of a name: put --redis before it")
	}
	return nil
}
