package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
)

// Each visitor of a site is counted once: as refused, and where the site never answers as hung.
func TestVisitorsAreCounted(t *testing.T) {
	for name, bound := range map[string]time.Duration{"refused": time.Hour, "hung": 50 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Second) // long enough for one request
			defer stop()
			var came atomic.Int64
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if came.Add(1) == 20 {
					stop()
				}
				if name == "hung" {
					<-r.Context().Done()
				}
				w.WriteHeader(http.StatusServiceUnavailable)
			}))
			defer site.Close()
			v := newVisitors(site.Listener.Addr().String(), bound)
			v.come(ctx)
			all := v.count(func(request) bool { return true })
			if got := map[string]int{"refused": all.Refused, "hung": all.Hung}[name]; v.failed != nil || got == 0 || got != all.Sent {
				t.Errorf("%+v, %v", all, v.failed)
			}
		})
	}
}

// TestOutages has real servers killed with each library, and frozen and replaced with one. Every request has an end, and some are served afterwards.
func TestOutages(t *testing.T) {
	redistest.Require(t, "redis-server", "redis-sentinel")
	for _, o := range outages {
		for _, e := range contestants() {
			if e.guard == nil || o.ID != "killed" && e.name != "wheellock" {
				continue
			}
			t.Run(o.ID+"/"+e.name, func(t *testing.T) {
				t.Parallel()
				p := phases{200 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond}
				r, err := o.turn(t.Context(), e, "redis-server", p)
				for tries := 0; err == nil && r.First.Answered+r.Later.Answered == 0 && tries < 3; tries++ { // a busy machine
					p = phases{4 * p.before, 4 * p.during, 4 * p.after}
					r, err = o.turn(t.Context(), e, "redis-server", p)
				}
				if err != nil || r.First.Answered+r.Later.Answered == 0 || r.End <= r.Begin {
					t.Fatalf("%+v, %v", r, err)
				}
				for _, part := range append(r.Seconds, r.Whole, r.FromOne, r.First, r.Later) {
					if part.Sent != part.Answered+part.Refused+part.Hung || part.InTime > part.Answered {
						t.Errorf("%+v", part)
					}
				}
			})
		}
	}
}
