package engine_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestNothingThatIsPrintedShowsASecret(t *testing.T) {
	const canary = "canary-7f3a"
	redis := miniredis.NewMiniRedis()
	redis.RequireUserAuth("gateway", canary)
	t.Cleanup(redis.Close)
	opts := engine.Options{Redis: rueidis.ClientOption{
		InitAddress: []string{"redis:6379"}, Username: "gateway", Password: canary, ForceSingleClient: true,
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { return redis.Dial() },
	}}
	e, err := engine.Open(t.Context(), opts)
	testkit.Must(t, err)
	t.Cleanup(func() { e.Close() })
	h, err := e.Mutex("stock:7").Lock(t.Context())
	testkit.Must(t, err)
	for _, v := range []any{
		opts, &opts, e, e.Mutex("stock:7"), e.RWMutex("stock:7"), e.Semaphore("stock:7"), e.PermitSemaphore("stock:7"), e.CountDownLatch("stock:7"), h, []any{opts, e, h},
		map[string]any{"opts": opts, "engine": e, "hold": h}, struct{ engine.Options }{opts},
	} {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("opened", "what", v)
		if text, err := json.Marshal(v); err == nil { // of functions it is an error
			out.Write(text)
		}
		if shown := out.String(); strings.Contains(shown, canary) || strings.Contains(shown, fmt.Sprintf("%x", canary)) {
			t.Errorf("%T shows the password:\n%s", v, shown)
		}
	}
}
