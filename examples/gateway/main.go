// A gateway in front of a backend. In all gateways that share a Redis a tenant has one order served at a time, and an order that is sent
// again with its Idempotency-Key gets the answer of the first; a tenant has three reports and exports made at a time; and an export takes
// four of the ten places of the backend and one of its tenant, or none. While Redis is down, orders and exports get 503 at once, and each
// gateway makes one report of a tenant at a time.
//
//	go run ./gateway -redis redis://127.0.0.1:6379 -listen 127.0.0.1:8080
//	curl -i -X POST -H 'Tenant: acme' -H 'Idempotency-Key: 8e03978e' http://127.0.0.1:8080/orders
//	curl -H 'Tenant: acme' http://127.0.0.1:8080/reports
//	curl -X POST -H 'Tenant: acme' http://127.0.0.1:8080/exports
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
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/contrib/httplock"
	"github.com/wheellock/wheellock/contrib/idempotency"
	"github.com/wheellock/wheellock/engine"
)

const (
	perTenant  = 3   // reports and exports of a tenant at a time
	places     = 10  // of the backend
	exportSize = 4   // of these, for an export
	queue      = 100 // requests of a tenant that wait here
)

func main() {
	url := flag.String("redis", "redis://127.0.0.1:6379", "URL of Redis")
	listen := flag.String("listen", "127.0.0.1:8080", "address to listen on")
	budget := flag.Duration("budget", 2*time.Second, "for all of a request; a quarter of it for its locks")
	flag.Parse()
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *url, *listen, *budget); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url, listen string, budget time.Duration) error {
	opts, err := engine.ParseURL(url)
	if err != nil {
		return err
	}
	e, err := open(ctx, opts)
	if err != nil {
		return err
	}
	defer e.Close()
	client, err := rueidis.NewClient(opts.Redis) // for the answers that idempotency keeps
	if err != nil {
		return err
	}
	defer client.Close()
	g := &gateway{e: e, budget: budget, patience: budget / 4}
	handler, err := g.handler(client)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: budget}
	log.Printf("serving on http://%s", listener.Addr())

	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
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

type gateway struct {
	e                *engine.Engine
	budget, patience time.Duration
}

func (g *gateway) handler(client rueidis.Client) (http.Handler, error) {
	once, err := idempotency.New(g.e, client, idempotency.Options{Client: tenantOf})
	if err != nil {
		return nil, err
	}
	limit, err := httplock.Limit(g.e, httplock.LimitOptions{
		Key:      tenantOf,
		N:        func(tenant string) int { return perTenant },
		Wait:     g.patience,
		OnOutage: httplock.LetInHere, Here: 1, // a report only reads
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", g.bounded(once(g.under(g.orders))))
	mux.Handle("GET /reports", g.bounded(limit(http.HandlerFunc(work))))
	mux.Handle("POST /exports", g.bounded(g.under(g.exports)))
	mux.HandleFunc("GET /ready", g.ready)
	return mux, nil
}

// tenantOf stands for authentication: a tenant must not be able to choose another one's name.
func tenantOf(r *http.Request) string { return r.Header.Get("Tenant") }

// bounded gives a request its budget. One without a tenant is refused: it would share a lock, a limit and answers with all such requests.
func (g *gateway) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tenantOf(r) == "" {
			http.Error(w, "no such tenant", http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), g.budget)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// orders is the lock of a tenant's orders.
func (g *gateway) orders(tenant string) (engine.Locker, error) {
	return g.e.Mutex("tenant:" + tenant), nil
}

// exports is what an export needs: all of it or nothing. httplock.Limit has the same name for the limit of a tenant.
func (g *gateway) exports(tenant string) (engine.Locker, error) {
	return engine.Multi(g.e.Limit("limit:"+tenant, perTenant), g.e.Limit("backend", places).Of(exportSize))
}

// under serves a request under a lock of its tenant.
func (g *gateway) under(lockOf func(tenant string) (engine.Locker, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock, err := lockOf(tenantOf(r))
		if err != nil {
			refuse(w, err)
			return
		}
		hold, err := lock.Lock(r.Context(), engine.WithWait(g.patience), engine.WithFailFast(), engine.WithQueue(queue))
		if err != nil {
			refuse(w, err)
			return
		}
		defer hold.UnlockAsync()                          // a Redis that stands still does not delay the answer; the engine goes on releasing
		work(w, r.WithContext(hold.Context(r.Context()))) // this context ends when the lock is lost
	})
}

// ready is the readiness probe: another gateway may reach Redis while this one does not. See Engine.Up for when it is right to be unready.
func (g *gateway) ready(w http.ResponseWriter, _ *http.Request) {
	if !g.e.Up() {
		http.Error(w, "Redis is out of reach", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// work stands for what the backend does for a request, and gives up when it is told to.
func work(w http.ResponseWriter, r *http.Request) {
	select {
	case <-time.After(10 * time.Millisecond):
		fmt.Fprintln(w, "served")
	case <-r.Context().Done():
		refuse(w, context.Cause(r.Context()))
	}
}

// refuse says why a request is not served. idempotency keeps a 400 as the answer to a key, and neither 429 nor 503, which ask to come again.
func refuse(w http.ResponseWriter, err error) {
	status, text := http.StatusServiceUnavailable, "try again" // Redis cannot serve, the lock was lost, or the client has gone
	switch {
	case errors.Is(err, engine.ErrInvalid):
		http.Error(w, "no such tenant", http.StatusBadRequest)
		return
	case errors.Is(err, engine.ErrHeld), errors.Is(err, engine.ErrOverloaded):
		status, text = http.StatusTooManyRequests, "busy"
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, text, status)
}
