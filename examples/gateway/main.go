// A gateway that serves one request of a tenant at a time, in all gateways that share a Redis.
//
//	go run ./gateway -redis redis://127.0.0.1:6379 -listen 127.0.0.1:8080
//	curl -H 'Tenant: acme' http://127.0.0.1:8080/orders
//	curl 'http://127.0.0.1:8080/batch?tenant=acme&tenant=globex'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/wheellock/wheellock/engine"
)

const (
	budget   = 2 * time.Second        // for all of a request
	patience = 500 * time.Millisecond // of that, for the lock
	queue    = 100                    // requests of a tenant that wait here
)

func main() {
	url := flag.String("redis", "redis://127.0.0.1:6379", "URL of Redis")
	listen := flag.String("listen", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *url, *listen); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url, listen string) error {
	opts, err := engine.ParseURL(url)
	if err != nil {
		return err
	}
	e, err := open(ctx, opts)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return errors.Join(err, e.Close())
	}
	g := &gateway{e: e}
	mux := http.NewServeMux()
	mux.HandleFunc("/orders", g.order)
	mux.HandleFunc("/batch", g.batch)
	mux.HandleFunc("/ready", g.ready)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: budget}
	log.Printf("serving on http://%s", listener.Addr())

	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return errors.Join(err, e.Close())
	case <-ctx.Done():
	}
	// First the requests, which need their locks; then the engine.
	log.Print("stopping")
	within, cancel := context.WithTimeout(context.Background(), 2*budget)
	defer cancel()
	err = errors.Join(server.Shutdown(within), e.Shutdown(within))
	log.Print("stopped")
	return err
}

// open waits for Redis: a gateway may start before it does. It does not wait for what only an administrator can change.
func open(ctx context.Context, opts engine.Options) (*engine.Engine, error) {
	for {
		e, err := engine.Open(ctx, opts)
		if err == nil || !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrRefused) {
			return e, err
		}
		log.Printf("waiting for Redis: %v", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, err
		}
	}
}

type gateway struct{ e *engine.Engine }

// tenant is the lock of a tenant. A request without one gets an invalid lock, and not one that all such requests share.
func (g *gateway) tenant(name string) *engine.Mutex {
	if name == "" {
		return g.e.Mutex("")
	}
	return g.e.Mutex("tenant:" + name)
}

// order serves one request of a tenant at a time.
func (g *gateway) order(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), budget)
	defer cancel()
	hold, err := g.tenant(r.Header.Get("Tenant")).Lock(ctx, engine.WithWait(patience), engine.WithFailFast(), engine.WithQueue(queue))
	if err != nil {
		refuse(w, err)
		return
	}
	defer hold.UnlockAsync() // a Redis that stands still does not delay the answer; the engine goes on releasing

	if err := serve(hold.Context(ctx)); err != nil { // this context ends when the lock is lost
		refuse(w, err)
		return
	}
	fmt.Fprintln(w, "served")
}

// batch does something for many tenants at once. No goroutine waits for a lock.
func (g *gateway) batch(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), budget)
	defer cancel()
	tenants := r.URL.Query()["tenant"]
	results := make([]string, len(tenants))
	var done sync.WaitGroup // a callback writes into results: wait for all of them
	done.Add(len(tenants))
	for i, tenant := range tenants {
		g.tenant(tenant).LockAsync(ctx, engine.WithWait(patience), engine.WithFailFast()).Then(func(hold *engine.Hold, err error) {
			defer done.Done()
			if err != nil {
				results[i] = tenant + ": " + reason(err)
				return
			}
			defer hold.UnlockAsync()
			if err := serve(hold.Context(ctx)); err != nil {
				results[i] = tenant + ": " + reason(err)
				return
			}
			results[i] = tenant + ": served"
		})
	}
	done.Wait()
	for _, result := range results {
		fmt.Fprintln(w, result)
	}
}

// ready is the readiness probe: another gateway may reach Redis while this one does not. See Engine.Up for when it is right to be unready.
func (g *gateway) ready(w http.ResponseWriter, _ *http.Request) {
	if !g.e.Up() {
		http.Error(w, "Redis is out of reach", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// serve stands for the work that must not happen twice at once.
func serve(ctx context.Context) error {
	select {
	case <-time.After(10 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reason is what a client learns.
func reason(err error) string {
	switch {
	case errors.Is(err, engine.ErrInvalid):
		return "no such tenant"
	case errors.Is(err, engine.ErrHeld), errors.Is(err, engine.ErrOverloaded):
		return "busy"
	default: // Redis cannot serve, the lock was lost, or the client has gone
		return "try again"
	}
}

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusServiceUnavailable
	if errors.Is(err, engine.ErrInvalid) {
		status = http.StatusBadRequest
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, reason(err), status)
}
