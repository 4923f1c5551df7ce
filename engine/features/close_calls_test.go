package features_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// What is under way when an engine is closed: calls for names that are free, of which the first becomes the
// holder and the others wait, and calls for names that somebody else holds.
const (
	closingNames  = 1_000
	closingCalls  = 11_000
	closingTheirs = 50
)

// closing is one engine that is closed at a random moment.
type closing struct {
	*testing.T
	*engine.Engine
	random *rand.Rand
	deaths *deaths
	names  []string // of the calls
	calls  []*futures.Future[*engine.Hold]
}

// atAnyMoment has a test close so many engines, each with its callers. Under the race detector, which makes each
// ten times as slow, it is a fifth of them.
func atAnyMoment(t *testing.T, rounds int, closeIt func(*closing)) {
	if testkit.RaceDetector {
		rounds /= 5
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	server := redistest.Start(t, "--notify-keyspace-events", "Eg")
	for i := range closingTheirs {
		server.MustDo("HSET", testkit.Name24("theirs", i), "somebody else", "1")
	}
	theirs := server.Keys()
	d := watchDeaths(t, server)
	for round := range rounds {
		others := goleak.IgnoreCurrent()
		c := &closing{T: t, Engine: testkit.Connect(t, server.Addr()), random: random, deaths: d, names: closingMix(random, round)}
		var comers sync.WaitGroup
		rw := c.RWMutex("coming to read and write")
		for _, l := range []engine.Locker{c.Mutex("coming and going"), c.Mutex("coming and going"), rw.Reader(), rw.Writer()} {
			comers.Go(func() { c.comeAndGo(l) })
		}
		closeIt(c)
		comers.Wait()
		if stats := c.Stats(); stats.Held != 0 || stats.Waiting != 0 {
			t.Errorf("held %d, waiting %d when closed", stats.Held, stats.Waiting)
		}
		if keys := server.Keys(); !slices.Equal(keys, theirs) {
			t.Errorf("%d keys are left, want those %d of others", len(keys), len(theirs))
		}
		c.wantDeaths()
		known := slices.Concat(testkit.NotOurs, []goleak.Option{others})
		for began := time.Now(); goleak.Find(known...) != nil && time.Since(began) < testkit.Patience; { // what ends needs a processor
		}
		goleak.VerifyNone(t, known...)
		if t.Failed() {
			return
		}
	}
}

// closingMix is the names of a round's calls, in random order.
func closingMix(random *rand.Rand, round int) []string {
	names := make([]string, closingCalls)
	room := fmt.Sprintf("round%d", round)
	for i := range names {
		switch {
		case i < closingNames:
			names[i] = testkit.Name24(room, i)
		case i%10 == 0:
			names[i] = testkit.Name24("theirs", random.IntN(closingTheirs))
		default:
			names[i] = testkit.Name24(room, random.IntN(closingNames/10))
		}
	}
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// call makes all calls. On the side it runs end: after a random call, or once every name is held.
func (c *closing) call(end func() error) (ended <-chan error) {
	done := make(chan error, 1)
	moment := c.random.IntN(2 * len(c.names))
	for i, name := range c.names {
		f := c.Mutex(name).LockAsync(context.Background())
		c.calls = append(c.calls, f)
		c.deaths.of(name, f)
		if i == moment {
			go func() { done <- end() }()
		}
	}
	if moment >= len(c.names) {
		redistest.Await(c.T, "every name to be held", func() bool { return c.Stats().Held >= closingNames })
		go func() { done <- end() }()
	}
	return done
}

// comeAndGo locks and unlocks until the engine closes.
func (c *closing) comeAndGo(l engine.Locker) {
	for {
		h, err := l.Lock(context.Background())
		if err == nil {
			err = testkit.Patiently(h.Unlock)
		}
		if errors.Is(err, engine.ErrClosed) {
			return
		}
		if err != nil {
			c.Errorf("%s: %v", l.Name(), err)
			return
		}
	}
}

// wantDeaths waits until the end of every key that was held here was heard of.
func (c *closing) wantDeaths() {
	c.Helper()
	redistest.Await(c.T, "the last key to go", func() bool {
		c.deaths.mu.Lock()
		defer c.deaths.mu.Unlock()
		for name, f := range c.deaths.holders {
			if _, err := f.Result(); err == nil && !c.deaths.gone[name] {
				return false
			}
		}
		clear(c.deaths.holders)
		clear(c.deaths.gone)
		return true
	})
}

// deaths hears of every key that goes, and looks whether its hold had ended by then.
type deaths struct {
	t *testing.T

	mu      sync.Mutex // guards the rest
	holders map[string]*futures.Future[*engine.Hold]
	gone    map[string]bool
}

// watchDeaths starts to listen, until the end of the test.
func watchDeaths(t *testing.T, server *redistest.Server) *deaths {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, ForceSingleClient: true, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	d := &deaths{t: t, holders: make(map[string]*futures.Future[*engine.Hold]), gone: make(map[string]bool)}
	var listening sync.WaitGroup
	listening.Go(func() {
		_ = client.Receive(t.Context(), client.B().Subscribe().Channel("__keyevent@0__:del").Build(), func(m rueidis.PubSubMessage) { d.died(m.Message) })
	})
	t.Cleanup(func() { client.Close(); listening.Wait() })
	redistest.Await(t, "news of keys that go", func() bool { return server.Subscriptions().Count() == 1 })
	return d
}

// of says which call a name's key is for: the first one.
func (d *deaths) of(name string, f *futures.Future[*engine.Hold]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holders[name] == nil {
		d.holders[name] = f
	}
}

func (d *deaths) died(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone[name] = true
	if f := d.holders[name]; f != nil {
		if h, err := f.Result(); err == nil && h.Err() == nil {
			d.t.Errorf("%s: the key went while the hold was alive", name)
		}
	}
}
