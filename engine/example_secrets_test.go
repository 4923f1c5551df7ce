package engine_test

import (
	"context"
	"crypto/tls"
	"log"
	"os"
	"strings"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
)

// A password in a file, such as a mounted secret, is read for each connection that is made. To rotate it: let Redis take both passwords
// (ACL SETUSER locks >new), write the file, wait until it is everywhere, and take the old one away (ACL SETUSER locks <old). Connections that
// are open stay logged in, so no lock is lost. An error of the function is one of the connection: callers get ErrNotSent.
func ExampleOpen_passwordFromFile() {
	o := engine.Options{}
	o.Redis.AuthCredentialsFn = func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		text, err := os.ReadFile("/run/secrets/redis-password")
		return rueidis.AuthCredentials{Username: "locks", Password: strings.TrimRight(string(text), "\r\n")}, err
	}
	e, err := engine.Open(context.Background(), o)
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
}

// A certificate in files that are replaced before it ends is read for each handshake.
func ExampleOpen_certificateFromFiles() {
	o, err := engine.ParseURL("rediss://redis-1:6380")
	if err != nil {
		log.Fatal(err)
	}
	o.Redis.TLSConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair("/run/tls/tls.crt", "/run/tls/tls.key")
		return &pair, err
	}
	e, err := engine.Open(context.Background(), o)
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
}
