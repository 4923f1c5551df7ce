package target

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

func connect(t *testing.T, url string) *Target {
	t.Helper()
	target, err := Connect(context.Background(), redisflags.Flags{URL: url})
	testkit.Must(t, err)
	t.Cleanup(func() { target.Close() })
	return target
}

func TestGivenServer(t *testing.T) {
	server := redistest.Start(t)
	target := connect(t, server.URL())
	if target.Kind != Given || target.Place != server.Addr() || target.Version == "" {
		t.Errorf("kind %q, place %q, version %q", target.Kind, target.Place, target.Version)
	}
	if product := resp.Product(resp.InfoFields(server.MustDo("INFO", "server").Text)); !strings.HasPrefix(target.Meaning(), "your "+product+" on ") {
		t.Errorf("of %s it says %q", product, target.Meaning())
	}
	target.Close()
	server.MustDo("PING") // it is not ours to end
}

func TestGivenServerNeverShowsItsPassword(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "hunter2")
	target := connect(t, server.URL())
	if said := target.Meaning() + target.Place; strings.Contains(said, "hunter2") {
		t.Errorf("%q has the password", said)
	}
	_, err := Connect(context.Background(), redisflags.Flags{URL: strings.Replace(server.URL(), "hunter2", "sesame", 1)})
	if err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("error %v: want one, without the password", err)
	}
}

func TestGivenServerWithTLS(t *testing.T) {
	ca := testkit.NewAuthority(t)
	cert := ca.Issue("127.0.0.1", time.Now().Add(time.Hour))
	_, addr := ca.Serve(cert, "--tls-auth-clients", "yes", "--requirepass", "hunter2")
	files, password := ca.Args(cert), filepath.Join(t.TempDir(), "password")
	testkit.Must(t, os.WriteFile(password, []byte("hunter2\n"), 0o600))
	flags := redisflags.Flags{URL: "rediss://" + addr, PasswordFile: password, CA: files[1], Cert: files[3], Key: files[5]}
	target, err := Connect(context.Background(), flags)
	testkit.Must(t, err)
	defer target.Close()
	if target.Version == "" {
		t.Error("the server's version is not known")
	}
}

func TestKeysAndRemoveTouchOnlyThePrefix(t *testing.T) {
	server := redistest.Start(t)
	target := connect(t, server.URL())
	for _, key := range []string{"loadgen:a:1", "loadgen:a:2", "loadgen:b:1", "mine"} {
		server.MustDo("SET", key, "x")
	}
	keys, err := target.Keys(context.Background(), "loadgen:a:")
	if want := []string{"loadgen:a:1", "loadgen:a:2"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("keys %q, %v; want %q", keys, err, want)
	}
	if err := target.Remove(context.Background(), keys); err != nil {
		t.Error(err)
	}
	if left, want := server.Keys(), []string{"loadgen:b:1", "mine"}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
}

func TestMeterCountsWhatRuns(t *testing.T) {
	server := redistest.Start(t)
	target := connect(t, server.URL())
	before := target.Read(context.Background())
	for range 50 {
		server.MustDo("EVAL", "redis.call('SET', KEYS[1], 1) for i = 1, 20000 do local x = i % 7 end return 1", "1", "k")
	}
	did := target.Read(context.Background()).Since(before)
	if !did.Known || did.CPU <= 0 {
		t.Errorf("known %t, CPU %v; want some", did.Known, did.CPU)
	}
	if did.Commands["eval"] != 50 || did.Commands["set"] != 50 || did.Commands["info"] != 0 {
		t.Errorf("commands %v; want 50 eval, 50 set, and the meter's own left out", did.Commands)
	}
}

func TestMeterAcrossARestart(t *testing.T) {
	server := redistest.Start(t)
	target := connect(t, server.URL())
	before := target.Read(context.Background())
	server.Restart()
	after := target.Read(context.Background())
	for !after.Known { // the first command finds out that the connection is gone
		after = target.Read(context.Background())
	}
	if did := after.Since(before); did.Known {
		t.Errorf("%+v: want nothing known, for the counters began anew", did)
	}
}

func TestMeterWithoutTheRight(t *testing.T) {
	server := redistest.Start(t)
	server.MustDo("ACL", "SETUSER", "blind", "on", ">pw", "~*", "&*", "+@all", "-info")
	target := connect(t, strings.Replace(server.URL(), "redis://", "redis://blind:pw@", 1))
	if r := target.Read(context.Background()); r.Known || r.Since(Reading{Known: true}).Known {
		t.Errorf("%+v: want nothing known", r)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	target := connect(t, "redis://"+cluster.Addrs()[0])
	before := target.Read(context.Background())
	client := target.client
	var want []string
	for _, key := range []string{"loadgen:a", "loadgen:b", "loadgen:c", "loadgen:d", "other"} { // on all nodes
		testkit.Must(t, client.Do(context.Background(), client.B().Set().Key(key).Value("x").Build()).Error())
		if key != "other" {
			want = append(want, key)
		}
	}
	if did := target.Read(context.Background()).Since(before); did.Commands["set"] != 5 {
		t.Errorf("commands %v, want 5 set, of all nodes together", did.Commands)
	}
	keys, err := target.Keys(context.Background(), "loadgen:")
	if err != nil || !slices.Equal(keys, want) {
		t.Errorf("keys %q, %v; want %q", keys, err, want)
	}
	if err := target.Remove(context.Background(), keys); err != nil {
		t.Error(err)
	}
	if keys, err := target.Keys(context.Background(), "loadgen:"); err != nil || len(keys) > 0 {
		t.Errorf("keys %q, %v after Remove", keys, err)
	}
}
