package wheelcert_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"go.uber.org/zap"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"

	wheelcert "github.com/wheellock/wheellock/contrib/certmagic"
)

// newStorage is a storage of a process of its own, whose certificates are in dir.
func newStorage(t *testing.T, redis *redistest.Server, dir string) *wheelcert.Storage {
	t.Helper()
	e := testkit.Connect(t, redis.Addr(), func(o *engine.Options) { o.WatchLoss = true })
	s, err := wheelcert.New(&certmagic.FileStorage{Path: dir}, e, wheelcert.Options{})
	testkit.Must(t, err)
	return s
}

// authority is a certificate authority that speaks ACME: pebble.
type authority struct {
	*httptest.Server
	accounts, orders atomic.Int64 // how many were asked for
}

// startAuthority starts one. It calls ordered in every request for an order, after it was counted.
func startAuthority(t *testing.T, ordered func(a *authority)) *authority {
	t.Helper()
	quiet, store := log.New(io.Discard, "", 0), db.NewMemoryStore()
	issuer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {}})
	front := wfe.New(quiet, store, va.New(quiet, 0, 0, false, "", store), issuer, []string{"pebble.example"}, false, false, 0, 0)
	a, serve := &authority{}, front.Handler()
	a.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/sign-me-up":
			a.accounts.Add(1)
		case "/order-plz":
			a.orders.Add(1)
			ordered(a)
		}
		serve.ServeHTTP(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

// manager obtains certificates as a Caddy does.
type manager struct {
	config *certmagic.Config
	cache  *certmagic.Cache
}

// newManager makes one in a process of its own.
func newManager(t *testing.T, a *authority, storage certmagic.Storage) *manager {
	t.Helper()
	m := &manager{}
	m.cache = certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return m.config, nil }, Logger: zap.NewNop(),
	})
	t.Cleanup(m.cache.Stop)
	m.config = certmagic.New(m.cache, certmagic.Config{
		Storage: storage, Logger: zap.NewNop(), OCSP: certmagic.OCSPConfig{DisableStapling: true},
	})
	roots := x509.NewCertPool()
	roots.AddCert(a.Certificate())
	m.config.Issuers = []certmagic.Issuer{certmagic.NewACMEIssuer(m.config, certmagic.ACMEIssuer{
		CA: a.URL + wfe.DirectoryPath, Email: "ops@example.com", Agreed: true, TrustedRoots: roots, Logger: zap.NewNop(),
		DisableHTTPChallenge: true, ListenHost: "127.0.0.1", AltTLSALPNPort: redistest.FreePort(t),
	})}
	return m
}

// serial is the number of the certificate that the manager serves for a name.
func (m *manager) serial(name string) string {
	for _, c := range m.cache.AllMatchingCertificates(name) {
		return c.Leaf.SerialNumber.String()
	}
	return ""
}

// waiting reports whether a process waits for a lock: it listens for its unlock.
func waiting(redis *redistest.Server) bool { return len(redis.Do("PUBSUB", "CHANNELS").Items) > 0 }

// Three processes need a certificate for the same name at once: one orders it, and all have it. The authority answers when somebody
// waits for the lock, or when another order comes because nobody does.
func TestOneOrderForAllProcesses(t *testing.T) {
	t.Parallel()
	const name = "shop.example.com"
	redis, dir := redistest.Start(t), t.TempDir()
	a := startAuthority(t, func(a *authority) {
		for began := time.Now(); !waiting(redis) && a.orders.Load() == 1 && time.Since(began) < testkit.Patience; {
			time.Sleep(time.Millisecond) // sleeps: the pace of questions
		}
	})
	managers := make([]*manager, 3)
	var wg sync.WaitGroup
	for i := range managers {
		m := newManager(t, a, newStorage(t, redis, dir))
		managers[i] = m
		wg.Go(func() {
			if err := m.config.ManageSync(testkit.Soon(t), []string{name}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if a.orders.Load() != 1 || a.accounts.Load() != 1 {
		t.Errorf("%d orders by %d accounts, want 1", a.orders.Load(), a.accounts.Load())
	}
	for _, m := range managers {
		if got := m.serial(name); got == "" || got != managers[0].serial(name) {
			t.Errorf("a process serves the certificate %q, another %q", got, managers[0].serial(name))
		}
	}
	if keys := redis.Keys(); len(keys) != 0 {
		t.Errorf("locks are left: %q", keys)
	}
}

var errClosing = errors.New("closing time")

// A name is locked once, by whomever of whichever process, and both ways to lock it know that.
func TestLocks(t *testing.T) {
	t.Parallel()
	redis, dir := redistest.Start(t), t.TempDir()
	here, there := newStorage(t, redis, dir), newStorage(t, redis, dir)
	ctx := testkit.Soon(t)
	testkit.Must(t, here.Lock(ctx, "a"))
	for _, s := range []*wheelcert.Storage{here, there} {
		if locked, err := s.TryLock(ctx, "a"); locked || err != nil {
			t.Errorf("TryLock of a name that is taken: %t, %v", locked, err)
		}
		short, cancel := context.WithTimeoutCause(ctx, 50*time.Millisecond, errClosing)
		if err := s.Lock(short, "a"); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errClosing) {
			t.Errorf("Lock of a name that is taken: %v", err)
		}
		cancel()
	}
	testkit.Must(t, here.RenewLockLease(ctx, "a", time.Hour))
	redistest.Await(t, "who gave up to leave the line", func() bool {
		return !slices.ContainsFunc(redis.Keys(), func(key string) bool { return strings.HasSuffix(key, ":wheellock:line") })
	})
	testkit.Must(t, here.Unlock(ctx, "a"))
	for _, s := range []*wheelcert.Storage{here, there} {
		if locked, err := s.TryLock(ctx, "a"); !locked || err != nil {
			t.Fatalf("TryLock of a free name: %t, %v", locked, err)
		}
		testkit.Must(t, s.Unlock(ctx, "a"))
		for _, err := range []error{s.Unlock(ctx, "a"), s.RenewLockLease(ctx, "a", time.Hour)} {
			if !errors.Is(err, engine.ErrUnlocked) {
				t.Errorf("%v, want ErrUnlocked", err)
			}
		}
	}
	redis.MustDo("SET", "certmagic:text", "x")
	if locked, err := here.TryLock(ctx, "text"); locked || !errors.Is(err, engine.ErrForeignKey) {
		t.Errorf("%t, %v, want ErrForeignKey", locked, err)
	}
	if err := here.Lock(ctx, "text"); !errors.Is(err, engine.ErrForeignKey) {
		t.Errorf("%v, want ErrForeignKey", err)
	}
}

// lose deletes the lock of a name. Its holder is told a round trip later.
func lose(t *testing.T, redis *redistest.Server, name string) {
	t.Helper()
	redis.MustDo("DEL", "certmagic:"+name)
}

// RenewLockLease tells of a lost lock as long as another process has it, and afterwards takes it again: of several renewals at a time one takes
// it, and none takes that one for another process.
func TestALostLockIsTakenAgain(t *testing.T) {
	t.Parallel()
	redis, dir := redistest.Start(t), t.TempDir()
	here, there := newStorage(t, redis, dir), newStorage(t, redis, dir)
	ctx := testkit.Soon(t)
	testkit.Must(t, here.Lock(ctx, "a"))
	lose(t, redis, "a")
	testkit.Must(t, there.Lock(ctx, "a"))
	redistest.Await(t, "the loss to be told", func() bool {
		return errors.Is(here.RenewLockLease(ctx, "a", time.Hour), engine.ErrHeld)
	})
	testkit.Must(t, there.Unlock(ctx, "a"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := here.RenewLockLease(ctx, "a", time.Hour); err != nil {
				t.Errorf("a renewal: %v", err)
			}
		})
	}
	wg.Wait()
	if locked, err := there.TryLock(ctx, "a"); locked || err != nil {
		t.Errorf("the lock was not taken again: %t, %v", locked, err)
	}
	testkit.Must(t, here.Unlock(ctx, "a"))
	if keys := redis.Keys(); len(keys) != 0 {
		t.Errorf("locks are left: %q", keys)
	}
}

// askedFor is a context that does something when it is first asked whether it ends.
type askedFor struct {
	context.Context
	do func()
}

func (c askedFor) Done() <-chan struct{} {
	c.do()
	return c.Context.Done()
}

// A renewal of a lost lock that is unlocked meanwhile says so, also if the name has been locked anew.
func TestARenewalOfWhatIsUnlockedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(ctx context.Context, s *wheelcert.Storage) error{
		"unlocked":    func(context.Context, *wheelcert.Storage) error { return nil },
		"locked anew": func(ctx context.Context, s *wheelcert.Storage) error { return s.Lock(ctx, "a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			s := newStorage(t, redis, t.TempDir())
			ctx := testkit.Soon(t)
			testkit.Must(t, s.Lock(ctx, "a"))
			asked := false
			meanwhile := askedFor{ctx, sync.OnceFunc(func() {
				asked = true
				testkit.Must(t, s.Unlock(ctx, "a"))
				testkit.Must(t, then(ctx, s))
			})}
			lose(t, redis, "a")
			redistest.Await(t, "the loss to be told", func() bool {
				err := s.RenewLockLease(meanwhile, "a", time.Hour)
				if asked && !errors.Is(err, engine.ErrUnlocked) {
					t.Errorf("the renewal: %v, want ErrUnlocked", err)
				}
				return asked
			})
			if name == "locked anew" {
				testkit.Must(t, s.Unlock(ctx, "a"))
			}
			if keys := redis.Keys(); len(keys) != 0 {
				t.Errorf("locks are left: %q", keys)
			}
		})
	}
}

// Unlock says that the lock was not released only if it was not: a context that has ended is no reason.
func TestUnlockUnderAnEndedContext(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := newStorage(t, redis, t.TempDir())
	ctx, cancel := context.WithCancel(testkit.Soon(t))
	testkit.Must(t, s.Lock(ctx, "a"))
	cancel()
	testkit.Must(t, s.Unlock(ctx, "a"))
	if keys := redis.Keys(); len(keys) != 0 {
		t.Errorf("locks are left: %q", keys)
	}
}

// The Unlock of one who has lost the lock does not release the lock of the next, in the same process or in another.
func TestALateUnlockSparesTheNext(t *testing.T) {
	t.Parallel()
	redis, dir := redistest.Start(t), t.TempDir()
	here, there := newStorage(t, redis, dir), newStorage(t, redis, dir)
	ctx := testkit.Soon(t)
	testkit.Must(t, here.Lock(ctx, "a"))
	lose(t, redis, "a")
	testkit.Must(t, there.Lock(ctx, "a"))
	testkit.Must(t, here.Unlock(ctx, "a"))
	if locked, err := here.TryLock(ctx, "a"); locked || err != nil {
		t.Errorf("the late Unlock released another's lock: %t, %v", locked, err)
	}
	lose(t, redis, "a")
	next := make(chan error, 1)
	go func() { next <- there.Lock(ctx, "a") }()
	select {
	case err := <-next:
		t.Fatalf("a name was locked twice in a process: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	testkit.Must(t, there.Unlock(ctx, "a"))
	testkit.Must(t, <-next)
	if locked, err := here.TryLock(ctx, "a"); locked || err != nil {
		t.Errorf("the late Unlock released the next one's lock: %t, %v", locked, err)
	}
	testkit.Must(t, there.Unlock(ctx, "a"))
}

func TestWhatIsInvalid(t *testing.T) {
	t.Parallel()
	e := testkit.Connect(t, redistest.Start(t).Addr())
	if _, err := wheelcert.New(nil, e, wheelcert.Options{}); !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
	if _, err := wheelcert.New(&certmagic.FileStorage{}, nil, wheelcert.Options{}); !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
}
