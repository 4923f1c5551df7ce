package idempotency_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"testing"

	"github.com/wheellock/wheellock/contrib/idempotency"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// The first answer is what net/http makes of the handler alone, and a repetition gets the same, but for trailers.
func TestTheFirstAnswerIsThatOfTheHandlerAlone(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	e, client := testkit.Connect(t, redis.Addr()), newClient(t, redis.Addr())
	const connection = "a status before the connection"
	for name, handle := range map[string]http.HandlerFunc{
		"headers behind the status": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/orders/7")
			w.Header().Set("Etag", "1")
			w.WriteHeader(http.StatusCreated)
			w.Header().Set("Location", "/orders/8")
			w.Header().Del("Etag")
			w.Header().Set("Content-Language", "en")
			_, _ = io.WriteString(w, "body")
		},
		"trailers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			_, _ = io.WriteString(w, "body")
			w.Header().Set("X-Sum", "7")
			w.Header().Set(http.TrailerPrefix+"X-More", "8")
		},
		"no type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "<html>")
		},
		"no type yet": func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "<html>")
		},
		"no type in what is packed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "<html>")
			w.(http.Flusher).Flush()
		},
		"a type from the beginning": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "html>")
		},
		"more than its length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4")
			_, _ = io.WriteString(w, "body")
			if _, err := io.WriteString(w, "\n"); err != http.ErrContentLength {
				t.Errorf("what is too much is answered %v", err)
			}
		},
		"a body where there is none": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if _, err := io.WriteString(w, "body"); err != http.ErrBodyNotAllowed {
				t.Errorf("a body is answered %v", err)
			}
			w.(http.Flusher).Flush()
		},
		"early hints that come late": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			w.WriteHeader(http.StatusEarlyHints)
		},
		connection: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "mine")
			w.WriteHeader(http.StatusSwitchingProtocols)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, "mine")
			_ = conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, e, client, idempotency.Options{Prefix: t.Name()}, handle)
			alone := s
			alone.Server = httptest.NewServer(handle)
			t.Cleanup(alone.Close)
			ask := func(s site) (head, trailer string, kept bool) {
				early := 0
				hints := &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error { early = code; return nil }}
				answer, err := s.ask(http.MethodPost, "k", "", func(r *http.Request) { *r = *r.WithContext(httptrace.WithClientTrace(r.Context(), hints)) })
				testkit.Must(t, err)
				answer.Header.Del("Date")
				answer.Header.Del("Trailer")
				answer.Header.Del("Content-Length") // a repetition is not flushed
				kept = answer.replayed()
				answer.Header.Del("Idempotency-Replayed")
				return fmt.Sprint(early, answer.Status, answer.Header, answer.body), fmt.Sprint(answer.Trailer), kept
			}
			want, trailer, _ := ask(alone)
			if got, behind, _ := ask(s); got != want || behind != trailer {
				t.Errorf("the first answer is %s %s, want %s %s", got, behind, want, trailer)
			}
			if name == connection {
				testkit.Mentions(t, testkit.Receive(t, "NotKept", s.notKept), "took over")
				return
			}
			if got, _, kept := ask(s); got != want || !kept {
				t.Errorf("the repetition is answered %s, want %s", got, want)
			}
		})
	}
}
