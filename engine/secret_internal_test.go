package engine

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/rueidis"
)

// With a verb that does not fit, fmt prints what a pointer points to, wherever that is: log.Printf("%s", service)
// looks into an engine or a lock that the service keeps.
func TestAnOpenEngineKeepsNoSecret(t *testing.T) {
	redis := miniredis.NewMiniRedis()
	redis.RequireUserAuth("gateway", "canary-7f3a")
	t.Cleanup(redis.Close)
	e, err := Open(t.Context(), Options{Redis: rueidis.ClientOption{
		InitAddress: []string{"redis:6379"}, Username: "gateway", Password: "canary-7f3a", ForceSingleClient: true,
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { return redis.Dial() },
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	kept := fmt.Sprintf("%#v", e.opts.Redis) // not all of e, which its goroutines write to
	if strings.Contains(kept, "canary-7f3a") {
		t.Errorf("the engine keeps the password: %s", kept)
	}
}
