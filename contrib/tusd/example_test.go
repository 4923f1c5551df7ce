package wheeltus_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/tus/tusd/v2/pkg/filestore"
	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"

	wheeltus "github.com/wheellock/wheellock/contrib/tusd"
)

// A server of uploads, of which any number may run on one store.
func Example() {
	redis := enginetest.Start() // in memory; a program calls engine.Open
	defer redis.Close()
	e, err := redis.Open(context.Background(), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	dir, err := os.MkdirTemp("", "uploads")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	locker, err := wheeltus.New(e, wheeltus.Options{})
	if err != nil {
		log.Fatal(err)
	}
	composer := handler.NewStoreComposer()
	filestore.New(dir).UseIn(composer)
	locker.UseIn(composer)
	uploads, err := handler.NewHandler(handler.Config{
		BasePath: "/files/", StoreComposer: composer, Logger: quiet,
		GracefulRequestCompletionTimeout: time.Millisecond, // for a test that looks for goroutines at its end
	})
	if err != nil {
		log.Fatal(err)
	}
	site := httptest.NewServer(http.StripPrefix("/files/", uploads))
	defer site.Close()

	r, err := http.NewRequest(http.MethodPost, site.URL+"/files/", nil)
	if err != nil {
		log.Fatal(err)
	}
	r.Header.Set("Tus-Resumable", "1.0.0")
	r.Header.Set("Upload-Length", "11")
	answer, err := site.Client().Do(r)
	if err != nil {
		log.Fatal(err)
	}
	answer.Body.Close()
	fmt.Println(answer.Status)
	// Output: 201 Created
}
