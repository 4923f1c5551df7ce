package features_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// Redisson's scripts of the read-write lock, by their meaning and with its keys and arguments.
var (
	readAcquire = rueidis.NewLuaScript(`local mode = redis.call('HGET', KEYS[1], 'mode')
if not mode then
	redis.call('HSET', KEYS[1], 'mode', 'read', ARGV[2], 1)
	redis.call('SET', KEYS[2] .. ':1', 1, 'PX', ARGV[1])
	redis.call('PEXPIRE', KEYS[1], ARGV[1])
	return nil
end
if mode == 'read' or redis.call('HEXISTS', KEYS[1], ARGV[3]) == 1 then
	local n = redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
	redis.call('SET', KEYS[2] .. ':' .. n, 1, 'PX', ARGV[1])
	redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), ARGV[1]))
	return nil
end
return redis.call('PTTL', KEYS[1])`)
	readRelease = rueidis.NewLuaScript(`if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return nil end
local n = redis.call('HINCRBY', KEYS[1], ARGV[2], -1)
if n == 0 then redis.call('HDEL', KEYS[1], ARGV[2]) end
redis.call('DEL', KEYS[3] .. ':' .. (n + 1))
if redis.call('HLEN', KEYS[1]) > 1 then
	local longest = -3
	for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
		local count = tonumber(redis.call('HGET', KEYS[1], field))
		for i = count or 0, 1, -1 do
			longest = math.max(longest, redis.call('PTTL', KEYS[4] .. ':' .. field .. ':rwlock_timeout:' .. i))
		end
	end
	if longest > 0 then
		redis.call('PEXPIRE', KEYS[1], longest)
		return 0
	end
	if redis.call('HGET', KEYS[1], 'mode') == 'write' then return 0 end
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], ARGV[1])
return 1`)
	writeAcquire = rueidis.NewLuaScript(`local mode = redis.call('HGET', KEYS[1], 'mode')
if not mode then
	redis.call('HSET', KEYS[1], 'mode', 'write', ARGV[2], 1)
	redis.call('PEXPIRE', KEYS[1], ARGV[1])
	return nil
end
if mode == 'write' and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
	redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
	redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]) + ARGV[1])
	return nil
end
return redis.call('PTTL', KEYS[1])`)
	writeRelease = rueidis.NewLuaScript(`if redis.call('HGET', KEYS[1], 'mode') ~= 'write' or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return nil end
if redis.call('HINCRBY', KEYS[1], ARGV[2], -1) > 0 then return 0 end
redis.call('HDEL', KEYS[1], ARGV[2])
if redis.call('HLEN', KEYS[1]) == 1 then
	redis.call('DEL', KEYS[1])
	redis.call('PUBLISH', KEYS[2], ARGV[1])
else
	redis.call('HSET', KEYS[1], 'mode', 'read')
end
return 1`)
)

// redisson is one thread of a Java service.
type redisson struct {
	*testkit.Outsider
	name string
}

func newRedisson(tb testing.TB, s *redistest.Server, name string) *redisson {
	return &redisson{testkit.NewOutsider(tb, s.Addr()), name}
}

// prefix is the name with the tag that derived keys share.
func (r *redisson) prefix() string {
	if strings.Contains(r.name, "{") {
		return r.name
	}
	return "{" + r.name + "}"
}

func (r *redisson) hold() string { return r.prefix() + ":" + r.Owner + ":rwlock_timeout" }

// run runs a script; done is that it answered nil, as an acquire that took the lock does.
func (r *redisson) run(s *rueidis.Lua, keys, args []string) (done bool) {
	r.TB.Helper()
	err := s.Exec(context.Background(), r.Client, keys, args).Error()
	if err != nil && !rueidis.IsRedisNil(err) {
		r.TB.Errorf("redisson: %v", err)
	}
	return rueidis.IsRedisNil(err)
}

func (r *redisson) read(millis string) bool {
	return r.run(readAcquire, []string{r.name, r.hold()}, []string{millis, r.Owner, r.Owner + ":write"})
}

func (r *redisson) write(millis string) bool {
	return r.run(writeAcquire, []string{r.name}, []string{millis, r.Owner + ":write"})
}

func (r *redisson) unread() bool {
	return !r.run(readRelease, []string{r.name, scripts.RWChannel(r.name), r.hold(), r.prefix()}, []string{"0", r.Owner})
}

func (r *redisson) unwrite() bool {
	return !r.run(writeRelease, []string{r.name, scripts.RWChannel(r.name)}, []string{"1", r.Owner + ":write"})
}

// waitToWrite is lock() of a write lock: ask, listen, ask again, then at each message, and now and then.
func (r *redisson) waitToWrite(ctx context.Context, listening chan<- struct{}) (waited time.Duration, entered bool) {
	conn, release := r.Client.Dedicate()
	defer release()
	defer conn.Close()
	heard := make(chan struct{}, 1)
	conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(rueidis.PubSubMessage) {
		select {
		case heard <- struct{}{}:
		default:
		}
	}})
	if err := conn.Do(ctx, conn.B().Subscribe().Channel(scripts.RWChannel(r.name)).Build()).Error(); err != nil {
		r.TB.Errorf("redisson: subscribe: %v", err)
		return 0, false
	}
	began := time.Now()
	close(listening)
	for ctx.Err() == nil {
		if r.write("30000") {
			return time.Since(began), true
		}
		select {
		case <-heard:
		case <-ctx.Done():
		}
	}
	return 0, false
}

// What one side does the other understands: fields, hold keys, TTLs and messages. Nobody polls here, so that
// whoever gets in was told.
func TestRWSpeaksWithRedisson(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), testkit.OnlyMessages)
	for _, name := range []string{"stock:7", "stock:{7}:eu"} {
		java := newRedisson(t, server, name)
		rw := e.RWMutex(name)

		// A reader of Java's beside ours; our writer waits for both.
		if !java.read("30000") {
			t.Fatal("Java cannot read a free lock")
		}
		h := testkit.MustLock(t, rw.Reader())
		if state, err := rw.Reader().Inspect(testkit.Soon(t)); err != nil || !state.Locked || !state.Ours || state.Owner != h.TenureID() {
			t.Errorf("Inspect = %+v, %v", state, err)
		}
		if got := server.MustDo("GET", java.prefix()+":"+h.TenureID()+":rwlock_timeout:1").Text; got != "1" {
			t.Errorf("our hold key says %q", got)
		}
		writer := rw.Writer().LockAsync(testkit.Soon(t))
		testkit.MustUnlock(t, h)
		redistest.Await(t, "our writer to listen", func() bool { return server.Subscriptions().Count() > 0 })
		if !java.unread() {
			t.Error("Java has lost its read lock")
		}
		h, err := writer.Wait(testkit.Soon(t))
		if err != nil {
			t.Fatalf("our writer: %v", err)
		}
		if java.read("30000") || java.write("30000") {
			t.Fatal("Java got in beside our writer")
		}
		// Java's writer waits for ours.
		listening := make(chan struct{})
		entered := make(chan bool, 1)
		go func() { _, in := java.waitToWrite(testkit.Soon(t), listening); entered <- in }()
		<-listening
		testkit.MustUnlock(t, h)
		if !<-entered {
			t.Fatal("Java's writer was not told")
		}
		// Our readers wait for Java's writer, and enter together.
		readers := []func() (*engine.Hold, error){}
		for range 3 {
			f := rw.Reader().LockAsync(testkit.Soon(t))
			readers = append(readers, func() (*engine.Hold, error) { return f.Wait(testkit.Soon(t)) })
		}
		redistest.Await(t, "our readers to listen", func() bool {
			return server.MustDo("PUBSUB", "NUMSUB", scripts.RWChannel(name)).Items[1].Int > 0
		})
		if !java.unwrite() {
			t.Error("Java has lost its write lock")
		}
		for _, wait := range readers {
			h, err := wait()
			if err != nil {
				t.Fatalf("our reader: %v", err)
			}
			defer testkit.MustUnlock(t, h)
		}
		if java.write("30000") {
			t.Error("Java writes beside our readers")
		}
	}
}

// A writer that reads too becomes a reader that Java finds like one of its own.
// invariant: readers-share-one-tenure
func TestRWDowngradeAsRedissonSeesIt(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	java, rw, me := newRedisson(t, server, "stock:7"), e.RWMutex("stock:7"), engine.NewOwner()
	write := testkit.MustLock(t, rw.Writer(), engine.WithOwner(me))
	read := testkit.MustLock(t, rw.Reader(), engine.WithOwner(me))
	if java.read("30000") {
		t.Fatal("Java reads beside our writer")
	}
	testkit.MustUnlock(t, write)
	if !java.read("1000") {
		t.Fatal("Java cannot read beside our reader")
	}
	if !java.unread() || java.write("30000") {
		t.Fatal("Java's unlock has freed our reader")
	}
	if ttl := server.MustDo("PTTL", "stock:7").Int; ttl < 10_000 {
		t.Errorf("TTL %d ms after Java's unlock, want that of our hold", ttl)
	}
	testkit.MustUnlock(t, read)
	if keys := server.Keys(); len(keys) != 0 {
		t.Errorf("left in Redis: %q", keys)
	}
}

// The TTL of a lock is that of the longest living hold: a reader that leaves lowers it, and whose client has died
// does not keep a writer out.
func TestRWReadersThatDied(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	java, rw := newRedisson(t, server, "stock:7"), e.RWMutex("stock:7")
	long := testkit.MustLock(t, rw.Reader(), engine.WithLease(time.Hour))
	if !java.read("20000") {
		t.Fatal("Java cannot read")
	}
	testkit.MustUnlock(t, long)
	if ttl := server.MustDo("PTTL", "stock:7").Int; ttl <= 0 || ttl > 20_000 {
		t.Errorf("TTL %d ms, want that of Java's hold, 20 s at most", ttl)
	}
	living := testkit.MustLock(t, rw.Reader())
	server.MustDo("PEXPIRE", java.hold()+":1", "1") // its client has died, its lease is over
	redistest.Await(t, "the dead reader's hold to run out", func() bool { return server.MustDo("EXISTS", java.hold()+":1").Int == 0 })
	if server.MustDo("HEXISTS", "stock:7", java.Owner).Int != 1 {
		t.Fatal("the dead reader is not in the lock any more: this test shows nothing")
	}
	testkit.MustUnlock(t, living)
	h, err := rw.Writer().TryLock(testkit.Soon(t))
	if err != nil {
		t.Fatalf("a writer after the last living reader: %v", err)
	}
	testkit.MustUnlock(t, h)
	testkit.CheckQuiet(t, server, e, 0)
}

// Redisson's renewal gives the lock that readers share the TTL of its watchdog. Ours give it back its length, and
// make a lost hold key anew.
func TestRWFixedLeaseIsAssertedAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), testkit.Lease(2*time.Second))
	h := testkit.MustLock(t, e.RWMutex("stock:7").Reader(), engine.WithLease(time.Hour))
	key := "{stock:7}:" + h.TenureID() + ":rwlock_timeout:1"
	server.MustDo("PEXPIRE", "stock:7", "2000")
	server.MustDo("DEL", key)
	redistest.Await(t, "the lock to have its length", func() bool {
		return server.MustDo("PTTL", "stock:7").Int > 3_000_000 && server.MustDo("PTTL", key).Int > 3_000_000
	})
	if left := time.Until(h.Deadline()); left > 2*time.Second {
		t.Errorf("the deadline is %v away, further than others may lower the TTL", left)
	}
	if err := h.Err(); err != nil {
		t.Errorf("the hold has ended: %v", err)
	}
	testkit.MustUnlock(t, h)
	testkit.CheckQuiet(t, server, e, 0)
}

// A thousand local readers are one hold in Redis: one script takes it, one gives it back.
// invariant: readers-share-one-tenure
func TestRWReadersCostTwoCommands(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.HandoffTime = 3 * time.Second })
	rw := e.RWMutex("stock:7")
	before := server.CommandCounts()["evalsha"]
	var gather, leave sync.WaitGroup
	gather.Add(1000)
	for range 1000 {
		leave.Go(func() {
			h, err := rw.Reader().Lock(testkit.Soon(t))
			gather.Done()
			if err != nil {
				t.Errorf("read: %v", err)
				return
			}
			gather.Wait()
			testkit.MustUnlock(t, h)
		})
	}
	leave.Wait()
	if n := server.CommandCounts()["evalsha"] - before; n > 2 {
		t.Errorf("1,000 readers took %d scripts, want at most 2", n)
	}
	if stats := e.Stats(); stats.Granted != 1000 {
		t.Errorf("granted %d", stats.Granted)
	}
	testkit.CheckQuiet(t, server, e, 0)
}

// A writer of another process gets its turn although readers of this one come without end: after HandoffTime and the
// longest running read, which is 60 ms here. A slow machine gets time for turns that it missed; without yield it
// is seconds each time.
func TestRWOutsideWriterGetsIn(t *testing.T) {
	t.Parallel()
	const read = 50 * time.Millisecond
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	java := newRedisson(t, server, "stock:7")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var readers sync.WaitGroup
	for range 64 {
		readers.Go(func() {
			for ctx.Err() == nil {
				h, err := e.RWMutex("stock:7").Reader().Lock(ctx)
				if err != nil {
					return
				}
				time.Sleep(rand.N(read)) // sleeps: how long it reads: not in step, or they would end together
				testkit.MustUnlock(t, h)
			}
		})
	}
	redistest.Await(t, "readers to read", func() bool { return e.Stats().Held > 32 })
	var all time.Duration
	for range 5 {
		waited, entered := java.waitToWrite(testkit.Soon(t), make(chan struct{}))
		if all += waited; !entered || all > 5*time.Second {
			t.Fatalf("the writer got in: %t, after %v", entered, waited)
		}
		t.Logf("the writer got in after %v", waited.Round(time.Millisecond))
		java.unwrite()
		redistest.Await(t, "readers to read again", func() bool { return e.Stats().Held > 32 })
	}
	stop()
	readers.Wait()
	testkit.CheckQuiet(t, server, e, 0)
}
