package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
)

// A library that hangs does not stop the measuring: its requests are abandoned, and counted as hung.
func TestHungRequestsAreAbandoned(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stop()
		<-r.Context().Done()
	}))
	defer site.Close()
	v := newVisitors(site.Listener.Addr().String(), 100*time.Millisecond)
	v.come(ctx)
	if all := v.count(0, time.Hour, false); v.failed != nil || all.Hung == 0 || all.Hung != all.Sent {
		t.Errorf("%+v, %v", all, v.failed)
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
				p := phases{100 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond}
				r, err := o.turn(t.Context(), e, "redis-server", p)
				for err == nil && r.servedAfter() == 0 && p.after < 10*time.Second { // a busy machine
					p.after *= 4
					r, err = o.turn(t.Context(), e, "redis-server", p)
				}
				if sum := r.First.Answered + r.First.Refused + r.First.Hung; err != nil || r.servedAfter() == 0 || sum != r.First.Sent || r.Whole.Sent == 0 {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
	}
}

// servedAfter is how many requests were served after the outage, as far as whole seconds tell.
func (r outageResult) servedAfter() int {
	n := r.First.Answered
	for at, second := range r.Seconds {
		if float64(at) >= r.End {
			n += second.Answered
		}
	}
	return n
}
