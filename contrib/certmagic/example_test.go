package wheelcert_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/caddyserver/certmagic"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"

	wheelcert "github.com/wheellock/wheellock/contrib/certmagic"
)

// Certificates lie in a directory that all processes share, and Redis locks it.
func Example() {
	redis := enginetest.Start() // in memory; a program calls engine.Open
	defer redis.Close()
	ctx := context.Background()
	e, err := redis.Open(ctx, engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	dir, err := os.MkdirTemp("", "certificates")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	storage, err := wheelcert.New(&certmagic.FileStorage{Path: dir}, e, wheelcert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	certmagic.Default.Storage = storage // from here on certmagic.HTTPS and others use it

	if err := storage.Lock(ctx, "issue_cert_example.com"); err != nil { // as certmagic does
		log.Fatal(err)
	}
	fmt.Println(redis.Keys())
	if err := storage.Unlock(ctx, "issue_cert_example.com"); err != nil {
		log.Fatal(err)
	}
	// Output: [certmagic:issue_cert_example.com]
}
