package redistest

import (
	"strings"
	"testing"
)

// ask notes a request written as words.
func (r *requests) ask(words string) {
	args := strings.Fields(words)
	r.add(args, int64(len(args)))
}

func TestRequests(t *testing.T) {
	next := func(t *testing.T, r *requests, kind byte, want string) {
		t.Helper()
		args, found := r.next(kind)
		if got := strings.Join(args, " "); got != want || found != (want != "") {
			t.Errorf("an answer %c is for %q, want %q", kind, got, want)
		}
	}
	t.Run("are answered in their order", func(t *testing.T) {
		var r requests
		next(t, &r, '+', "")
		r.ask("GET a")
		r.ask("") // an empty line has no answer
		r.ask("GET b")
		next(t, &r, '$', "GET a")
		r.answered()
		next(t, &r, '-', "GET b")
		r.answered()
		r.answered() // an answer nobody asked for
		next(t, &r, '+', "")
	})
	t.Run("to subscribe are confirmed once for each channel", func(t *testing.T) {
		var r requests
		r.ask("subscribe a b")
		r.ask("GET k")
		r.confirmed("subscribe")
		r.confirmed("message") // of a channel subscribed to before
		r.confirmed("subscribe")
		next(t, &r, '$', "GET k")
		r.confirmed("subscribe") // nobody's
		next(t, &r, '$', "GET k")
	})
	t.Run("to subscribe may fail", func(t *testing.T) {
		var r requests
		r.ask("SSUBSCRIBE a b")
		r.ask("GET k")
		next(t, &r, '-', "SSUBSCRIBE a b")
		r.answered()
		next(t, &r, '$', "GET k")
	})
	t.Run("to unsubscribe from all are not waited for", func(t *testing.T) {
		var r requests
		r.ask("UNSUBSCRIBE")
		r.ask("PUNSUBSCRIBE p")
		r.ask("PING")
		r.confirmed("unsubscribe")
		r.confirmed("punsubscribe")
		next(t, &r, '+', "PING")
	})
	for _, end := range []string{"MONITOR", "PSYNC ? -1", "CLIENT REPLY OFF"} {
		t.Run("are given up after "+end, func(t *testing.T) {
			var r requests
			r.ask("CLIENT ID")
			r.ask(end)
			r.ask("GET k")
			next(t, &r, ':', "")
			if !r.isLost() {
				t.Error("not given up")
			}
		})
	}
	t.Run("are given up when RESP2 subscribes", func(t *testing.T) {
		var r requests
		r.ask("SUBSCRIBE a")
		r.ask("PING")
		next(t, &r, '*', "")
		next(t, &r, '*', "")
		if !r.isLost() {
			t.Error("not given up")
		}
	})
}
