package polyglot

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// served in the environment says of which library this program is to be a driver.
const served = "WHEELLOCK_POLYGLOT_SERVE"

func TestMain(m *testing.M) {
	if name := os.Getenv(served); name != "" {
		serve(name, os.Args[1:])
		return
	}
	testkit.Main(m)
}

// held is a lock that a library has.
type held struct{ extend, unlock func(context.Context) error }

// taker takes a lock, for lease in which it is not extended, or returns nil if others have it. wait is 0: it asks once.
type taker func(name string, lease, wait time.Duration, token string) (*held, error)

// redislocks takes locks of redislock, which asks every 100 ms, as its README has it.
func redislocks(client *redis.Client) taker {
	locker := redislock.New(client)
	return func(name string, lease, wait time.Duration, token string) (*held, error) {
		opts, ctx := &redislock.Options{Token: token}, context.Background()
		if wait > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, wait)
			defer cancel()
			opts.RetryStrategy = redislock.LinearBackoff(100 * time.Millisecond)
		}
		lock, err := locker.Obtain(ctx, name, lease, opts)
		if errors.Is(err, redislock.ErrNotObtained) || ctx.Err() != nil {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		return &held{func(ctx context.Context) error { return lock.Refresh(ctx, lease, nil) }, lock.Release}, nil
	}
}

// redsyncs takes locks of redsync, which asks after its default delays.
func redsyncs(clients ...*redis.Client) taker {
	var pools []redsyncredis.Pool
	for _, client := range clients {
		pools = append(pools, goredis.NewPool(client))
	}
	rs := redsync.New(pools...)
	return func(name string, lease, wait time.Duration, token string) (*held, error) {
		opts := []redsync.Option{redsync.WithExpiry(lease), redsync.WithTries(math.MaxInt32)}
		if token != "" {
			opts = append(opts, redsync.WithGenValueFunc(func() (string, error) { return token, nil }))
		}
		m, ctx := rs.NewMutex(name, opts...), context.Background()
		take := m.TryLockContext
		if wait > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, wait)
			defer cancel()
			take = m.LockContext
		}
		err := take(ctx)
		if taken := new(redsync.ErrTaken); errors.As(err, &taken) || ctx.Err() != nil {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		return &held{done(m.ExtendContext), done(m.UnlockContext)}, nil
	}
}

// done makes an error of what redsync did not do.
func done(call func(context.Context) (bool, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		if ok, err := call(ctx); err != nil || !ok {
			return fmt.Errorf("not done: %w", err)
		}
		return nil
	}
}

// ours takes locks of an engine, which are renewed if fixed is false or lease is 0.
func ours(fixed bool, lockOf func(name string) engine.Locker) taker {
	return func(name string, lease, wait time.Duration, _ string) (*held, error) {
		opts := []engine.LockOption{engine.WithWait(wait)}
		if fixed && lease > 0 {
			opts = append(opts, engine.WithLease(lease))
		}
		h, err := lockOf(name).Lock(context.Background(), opts...)
		if errors.Is(err, engine.ErrWaitTimeout) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		extend := func(ctx context.Context) error {
			if !fixed {
				return h.Err()
			}
			return h.Extend(ctx, lease)
		}
		return &held{extend, h.Unlock}, nil
	}
}

// serve obeys the commands of doc.go until its input ends.
func serve(name string, urls []string) {
	var clients []*redis.Client
	for _, url := range urls {
		opts, err := redis.ParseURL(url)
		must(err)
		opts.MaxRetries, opts.DialerRetries = -1, 1 // a server that is gone refuses at once, as one of a quorum should
		clients = append(clients, redis.NewClient(opts))
	}
	var take taker
	ready := name + " by an engine"
	switch name {
	case "redislock":
		take, ready = redislocks(clients[0]), module("github.com/bsm/redislock")
	case "redsync":
		take, ready = redsyncs(clients...), module("github.com/go-redsync/redsync/v4")
	default:
		e, err := engine.Open(context.Background(), engine.Options{
			Redis: rueidis.ClientOption{InitAddress: []string{clients[0].Options().Addr}}, Lease: lease, AnswerTimeout: -1})
		must(err)
		take = ours(false, func(name string) engine.Locker { return e.SimpleMutex(name) })
	}
	s := &server{clients[0], take, sync.Map{}}
	fmt.Println("ready", ready)
	var mu sync.Mutex // held while a line is written
	lines := bufio.NewScanner(os.Stdin)
	for lines.Buffer(nil, 1<<16); lines.Scan(); {
		words := strings.Fields(lines.Text())
		go func() {
			answer, err := s.obey(append(words[1:], ""))
			if err != nil {
				answer = "err " + strings.ReplaceAll(err.Error(), "\n", " ")
			} else {
				answer = strings.TrimRight("ok "+answer, " ")
			}
			mu.Lock()
			defer mu.Unlock()
			fmt.Println(words[0], answer)
		}()
	}
}

// server is a driver.
type server struct {
	redis *redis.Client
	take  taker
	locks sync.Map // by name, *held
}

func (s *server) obey(w []string) (string, error) {
	switch w[0] {
	case "lock":
		h, err := s.take(w[1], millis(w[2]), millis(w[3]), token(w[4]))
		if h != nil {
			s.locks.Store(w[1], h)
		}
		return strconv.FormatBool(h != nil), err
	case "extend":
		h, _ := s.locks.Load(w[1])
		return "", h.(*held).extend(context.Background())
	case "unlock":
		h, _ := s.locks.LoadAndDelete(w[1])
		return "", h.(*held).unlock(context.Background())
	case "contend":
		f := fight{w[1], millis(w[3]), millis(w[4]), millis(w[5])}
		n := int(millis(w[2]) / time.Millisecond)
		did, err := f.fight(s.redis, n, s.take)
		return fmt.Sprintf("sections=%d violations=%d maxWaitMs=%d", did.sections, did.violations, did.maxWait.Milliseconds()), err
	}
	return "", fmt.Errorf("no such command: %q", w)
}

// fight is callers entering a name for a while.
type fight struct {
	name                string
	lasts, inside, hold time.Duration
}

// counts is what became of it.
type counts struct {
	sections, violations int
	maxWait              time.Duration
}

func (f fight) fight(redis *redis.Client, callers int, take taker) (all counts, err error) {
	var mu sync.Mutex // guards all and err
	var wg sync.WaitGroup
	end := time.Now().Add(f.lasts)
	for range callers {
		wg.Go(func() {
			for again := true; again && time.Now().Before(end); {
				did, failed := f.enter(redis, end, take)
				mu.Lock()
				all.sections += did.sections
				all.violations += did.violations
				all.maxWait = max(all.maxWait, did.maxWait)
				err = errors.Join(err, failed)
				mu.Unlock()
				again = failed == nil
			}
		})
	}
	wg.Wait()
	return all, err
}

// enter enters once, and looks whether anybody else is inside.
func (f fight) enter(redis *redis.Client, end time.Time, take taker) (did counts, err error) {
	ctx, began := context.Background(), time.Now()
	h, err := take(f.name, f.hold, max(time.Until(end), time.Millisecond), "")
	did.maxWait = time.Since(began)
	if h == nil {
		return did, err
	}
	n, err := redis.Incr(ctx, "inside:"+f.name).Result()
	if did.sections = 1; n > 1 {
		did.violations = 1
	}
	time.Sleep(f.inside)
	return did, errors.Join(err, h.extend(ctx), redis.Decr(ctx, "inside:"+f.name).Err(), h.unlock(ctx))
}

// module is a dependency of this program with its version.
func module(path string) string {
	text, err := os.ReadFile("../go.mod")
	must(err)
	return regexp.MustCompile(regexp.QuoteMeta(path) + " v.*").FindString(string(text))
}

func millis(word string) time.Duration {
	n, err := strconv.Atoi(word)
	must(err)
	return time.Duration(n) * time.Millisecond
}

// token is the value of HEX*TIMES.
func token(word string) string {
	text, times, _ := strings.Cut(word, "*")
	n, _ := strconv.Atoi(times)
	bytes, err := hex.DecodeString(text)
	must(err)
	return strings.Repeat(string(bytes), n)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
