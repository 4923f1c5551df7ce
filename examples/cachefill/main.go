// A site whose front page takes long to render. When the page expires, one process renders it, and the others wait for its result.
//
//	go run ./cachefill -listen 127.0.0.1:8081 & go run ./cachefill -listen 127.0.0.1:8082
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/contrib/flight"
	"github.com/wheellock/wheellock/engine"
)

func main() {
	url := flag.String("redis", "redis://127.0.0.1:6379", "URL of Redis")
	listen := flag.String("listen", "127.0.0.1:8081", "address to listen on")
	keep := flag.Duration("keep", 10*time.Second, "how long a rendered page is served")
	flag.Parse()
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *url, *listen, *keep); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url, listen string, keep time.Duration) error {
	opts, err := engine.ParseURL(url)
	if err != nil {
		return err
	}
	e, err := engine.Open(ctx, opts)
	if err != nil {
		return err
	}
	defer e.Close()
	client, err := rueidis.NewClient(opts.Redis)
	if err != nil {
		return err
	}
	defer client.Close()
	pages, err := flight.New(e, client, flight.Options{Keep: keep})
	if err != nil {
		return err
	}

	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		page, _, err := pages.Do(ctx, "page:/", render)
		if err != nil {
			log.Print(err)
			http.Error(w, "try again", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write(page)
	})}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		within, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(within)
	})
	log.Printf("serving on http://%s", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

// render takes long, and should not run in every process at once.
func render(ctx context.Context) ([]byte, error) {
	log.Print("rendering")
	select {
	case <-time.After(300 * time.Millisecond):
		return fmt.Appendf(nil, "rendered by process %d\n", os.Getpid()), nil
	case <-ctx.Done(): // nobody waits any more, or the lock is lost
		return nil, context.Cause(ctx)
	}
}
