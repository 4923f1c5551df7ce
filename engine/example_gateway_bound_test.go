package engine_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/virtual"
)

// The gateway of the example answers within the budget of a request, though Redis falls silent while the request is served.
func TestTheExampleOfAGatewayKeepsItsBudget(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		const budget = 200 * time.Millisecond
		e, link := w.Connect()
		gateway := oneAtATime(e, budget, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { link.Down.Lose(time.Now().Add(time.Hour)) }))
		r := httptest.NewRequestWithContext(w.T.Context(), http.MethodGet, "/orders", nil)
		r.Header.Set("Tenant", "acme")
		began := time.Now()
		gateway.ServeHTTP(httptest.NewRecorder(), r)
		if took := time.Since(began); took > budget {
			w.T.Errorf("the answer took %v, want %v at most", took, budget)
		}
	})
}
