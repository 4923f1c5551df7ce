package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/child"
)

// A site is a net/http handler that serves a request under the lock of its key, as a gateway has it with one of the libraries.
type site struct {
	http.Handler
	up    func() bool // whether the library says that it reaches Redis; nil: it does not say
	close func()
}

// What each library is given. All is bounded, so that a request whose library heeds its bounds is in time if it is refused.
const (
	guardBudget = 200 * time.Millisecond // of a request, whose context it bounds
	guardWait   = 150 * time.Millisecond // of this, for the lock
	guardWork   = 2 * time.Millisecond   // under the lock
	guardUnlock = 100 * time.Millisecond // for giving it back before the answer, as contrib/httplock has it
	guardLease  = 5 * time.Second        // where a user is to choose one: rueidislock's default, less than redsync's
)

const (
	keyHeader = "Idempotency-Key" // of a request: which lock it needs
	downSays  = "Redis-Is-Down"   // in an answer: the library said so when the request came
)

// guard puts a lock around work. take fails when its context ends, and gives what gives the lock back.
func guard(take func(ctx context.Context, name string) (release func(context.Context), err error), work http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), guardWait)
		defer cancel()
		release, err := take(ctx, r.Header.Get(keyHeader))
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		defer func() {
			soon, stop := context.WithTimeout(context.WithoutCancel(r.Context()), guardUnlock)
			defer stop()
			release(soon)
		}()
		work.ServeHTTP(w, r)
	})
}

// serveSite serves in a child until the parent has gone. The parent hears the address.
func serveSite(parent *child.Link) error {
	var at place
	if err := parent.Hear(&at); err != nil {
		return err
	}
	e, found := entryNamed(at.Contestant)
	if !found || e.guard == nil {
		return fmt.Errorf("%s guards no site", at.Contestant)
	}
	s, err := e.guard(at.URL, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(guardWork) }))
	if err != nil {
		return fmt.Errorf("opening %s: %w", e.name, err)
	}
	defer s.close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s.within(guardBudget)}
	go func() { _ = server.Serve(listener) }() // until Close
	defer server.Close()
	if err := parent.Say(listener.Addr().String()); err != nil {
		return err
	}
	var nothing string
	_ = parent.Hear(&nothing) // the end, whichever way
	return nil
}

// within gives each request so long, and has its answer tell whether the library said that Redis is down.
func (s site) within(budget time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.up != nil && !s.up() {
			w.Header().Set(downSays, "yes")
		}
		ctx, cancel := context.WithTimeout(r.Context(), budget)
		defer cancel()
		s.ServeHTTP(w, r.WithContext(ctx))
	})
}
