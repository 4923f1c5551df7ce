package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// Kind says where the Redis comes from.
type Kind string

// The kinds.
const (
	Private  Kind = "private"  // a redis-server of this run's own
	Embedded Kind = "embedded" // an emulation inside this process
	Given    Kind = "given"    // named by the user
)

// Address is how to connect to a Target, in a form that can be sent to another process.
type Address struct {
	redisflags.Flags
	Own    bool `json:"own"`    // a server of this run's own, which has no password, whatever the environment says
	Single bool `json:"single"` // ask nothing about clusters
}

// Options is the address as the engine takes it. Its error never quotes the URL.
func (a Address) Options() (engine.Options, error) {
	read := a.Flags.Options
	if a.Own {
		read = func() (engine.Options, error) { return engine.ParseURL(a.URL) }
	}
	o, err := read()
	o.Redis.ForceSingleClient = a.Single
	if a.Own {
		o.Redis.ConnWriteTimeout = ownSilence
	}
	return o, err
}

// ownSilence is how long a server of this run's own may be silent. It shares the machine with the load, so it is slow and not gone: an
// emulation takes seconds to compile the scripts of several engines on a busy machine. More does not fit into a lease of 30 s.
const ownSilence = 8 * time.Second

// Target is a Redis to run against. Any goroutine may use it.
type Target struct {
	Kind    Kind
	Address Address
	Place   string // the address of one server
	Product string // such as Redis or Valkey; empty: unknown
	Version string // of the server; empty: unknown
	network string // how a server of our own is reached, for people

	Others []*Target // the other servers of a quorum

	client rueidis.Client // for meter and leftovers; not measured
	failed chan error     // what ended a server of our own before Close

	anyFailed chan error   // the same, of any server of a quorum
	shut      func() error // ends a server of our own
	once      sync.Once
	err       error // of shut
}

// Own starts a Redis for this run alone: a private redis-server where there is one on the PATH, an emulation
// else. keeper is the command that runs Keep.
func Own(ctx context.Context, keeper []string) (*Target, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		switch program, err := exec.LookPath(name); {
		case err == nil:
			return startPrivate(ctx, keeper, program)
		case !errors.Is(err, exec.ErrNotFound):
			return nil, fmt.Errorf("looking for %s: %w", name, err)
		}
	}
	return startEmbedded(ctx)
}

// Meaning says in a line what the load runs against, and what that means for the figures.
func (t *Target) Meaning() string {
	version := t.Version
	if version != "" {
		version = " " + version
	}
	several := len(t.Others) > 0
	switch {
	case t.Kind == Private && several:
		return fmt.Sprintf("%d private redis-servers%s, each on a %s: they share the %d CPUs of this machine with the load, and no network is between them",
			1+len(t.Others), version, t.network, runtime.NumCPU())
	case t.Kind == Private:
		return fmt.Sprintf("private redis-server%s on a %s: it shares the %d CPUs of this machine with the load, and no network is between them",
			version, t.network, runtime.NumCPU())
	case t.Kind == Embedded:
		return "no redis-server on the PATH, so an emulation of it in this process (miniredis): the figures are of the emulation, not of Redis"
	default:
		return fmt.Sprintf("your %s%s on %s: what else it does counts in its figures", cmp.Or(t.Product, "Redis"), version, t.Where())
	}
}

// Where is where it is, for people, without secrets.
func (t *Target) Where() string {
	places := []string{t.Place}
	for _, other := range t.Others {
		places = append(places, other.Place)
	}
	return strings.Join(places, " and ")
}

// Failed tells when a server of our own ends before Close.
func (t *Target) Failed() <-chan error {
	if t.anyFailed != nil {
		return t.anyFailed
	}
	return t.failed
}

// Close ends a server of our own, and leaves nothing of it; from one that somebody named it disconnects.
func (t *Target) Close() error {
	t.once.Do(func() {
		if t.client != nil {
			t.client.Close()
		}
		if t.shut != nil {
			t.err = t.shut()
		}
		for _, other := range t.Others {
			t.err = errors.Join(t.err, other.Close())
		}
	})
	return t.err
}

// connect makes the client that is not measured, and learns the version.
func (t *Target) connect(ctx context.Context) error {
	o, err := t.Address.Options()
	if err != nil {
		return err
	}
	r := o.Redis
	if t.Place == "" {
		t.Place = strings.Join(r.InitAddress, ", ")
	}
	r.ClientName = "loadgen-meter"
	r.DisableCache, r.DisableRetry, r.AlwaysPipelining = true, true, true
	r.PipelineMultiplex = -1
	if r.ConnWriteTimeout == 0 {
		r.ConnWriteTimeout = 5 * time.Second
	}
	t.client, _, err = topology.Reach(ctx, r, func(_ context.Context, o rueidis.ClientOption) (rueidis.Client, error) { return rueidis.NewClient(o) })
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", t.Place, err)
	}
	info, err := t.client.Do(ctx, t.client.B().Info().Section("server").Build()).ToString()
	if err == nil {
		t.Product, t.Version, _ = strings.Cut(resp.Product(resp.InfoFields(info)), " ")
	}
	return nil
}
