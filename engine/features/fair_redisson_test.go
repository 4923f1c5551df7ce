package features_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// What Redisson's fair lock does in Redis, in the order of its keys and arguments: WIRE.md of Redisson 4.7 told as Lua.
const (
	fairPurge = `
local function purge(queue, deadlines, now)
	while true do
		local head = redis.call('lindex', queue, 0)
		if not head then return end
		local score = redis.call('zscore', deadlines, head)
		if not score or tonumber(score) > now then return end
		redis.call('zrem', deadlines, head)
		redis.call('lpop', queue)
	end
end
`
	// KEYS lock queue deadlines; ARGV lease owner wait now.
	fairJavaLock = fairPurge + `
local now, wait = tonumber(ARGV[4]), tonumber(ARGV[3])
purge(KEYS[2], KEYS[3], now)
if redis.call('exists', KEYS[1]) == 0 and (redis.call('exists', KEYS[2]) == 0 or redis.call('lindex', KEYS[2], 0) == ARGV[2]) then
	redis.call('lpop', KEYS[2])
	redis.call('zrem', KEYS[3], ARGV[2])
	for _, owner in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do redis.call('zincrby', KEYS[3], -wait, owner) end
	redis.call('hset', KEYS[1], ARGV[2], 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	return false
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
	redis.call('hincrby', KEYS[1], ARGV[2], 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	return false
end
if redis.call('zscore', KEYS[3], ARGV[2]) then return math.max(0, redis.call('pttl', KEYS[1])) end
local last, ttl = redis.call('lindex', KEYS[2], -1), nil
if last and last ~= ARGV[2] and redis.call('zscore', KEYS[3], last) then
	ttl = tonumber(redis.call('zscore', KEYS[3], last)) - now
else
	ttl = redis.call('pttl', KEYS[1])
end
if redis.call('zadd', KEYS[3], ttl + wait + now, ARGV[2]) == 1 then redis.call('rpush', KEYS[2], ARGV[2]) end
return ttl`
	// KEYS lock queue deadlines channels; ARGV owner now.
	fairJavaUnlock = fairPurge + `
purge(KEYS[2], KEYS[3], tonumber(ARGV[2]))
local function call()
	local head = redis.call('lindex', KEYS[2], 0)
	if head then redis.call('publish', KEYS[4] .. ':' .. head, '0') end
end
if redis.call('exists', KEYS[1]) == 0 then call() return 1 end
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return false end
redis.call('del', KEYS[1])
call()
return 1`
)

// javaCaller is a thread of a Java service that uses Redisson's fair lock.
type javaCaller struct {
	t       *testing.T
	client  rueidis.Client
	owner   string
	wait    time.Duration // its waitTime
	clock   time.Duration // how much its clock is ahead of the server's
	granted <-chan rueidis.PubSubMessage
}

// java makes such a thread, which listens for its turn.
func java(t *testing.T, addr, thread string, wait time.Duration) *javaCaller {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	j := &javaCaller{t: t, client: client, owner: "0b7d4c7e-0000-4000-8000-00000000feed:" + thread, wait: wait}
	conn, release := client.Dedicate()
	t.Cleanup(func() { conn.Close(); release() })
	called := make(chan rueidis.PubSubMessage, 64)
	conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) { called <- m }})
	if err := conn.Do(t.Context(), conn.B().Subscribe().Channel(scripts.FairChannel(fairName, j.owner)).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	j.granted = called
	return j
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func (j *javaCaller) now() string { return strconv.FormatInt(time.Now().Add(j.clock).UnixMilli(), 10) }

// ask is one tryAcquire: the lock, or how long Redisson would sleep.
func (j *javaCaller) ask() (sleep int64, taken bool) {
	j.t.Helper()
	sleep, err := j.client.Do(context.Background(), j.client.B().Eval().Script(fairJavaLock).Numkeys(3).
		Key(fairName, fairQueue, fairDeadlines).Arg("30000", j.owner, millis(j.wait), j.now()).Build()).AsInt64()
	if rueidis.IsRedisNil(err) {
		return 0, true
	}
	if err != nil {
		j.t.Fatal(err)
	}
	return sleep, false
}

// queue asks and must be put into the queue.
func (j *javaCaller) queue() {
	j.t.Helper()
	sleep, taken := j.ask()
	if taken {
		j.t.Fatal("the lock was free")
	}
	if sleep < 0 {
		j.t.Errorf("Redisson would sleep for %d ms, that is for ever", sleep)
	}
}

// called waits until it is called, and takes the lock.
func (j *javaCaller) called() {
	j.t.Helper()
	testkit.Receive(j.t, "somebody to call "+j.owner, j.granted)
	if _, taken := j.ask(); !taken {
		j.t.Fatalf("%s was called, but may not have the lock", j.owner)
	}
}

// giveUp is the end of a tryLock that has waited long enough.
func (j *javaCaller) giveUp() {
	j.t.Helper()
	for _, command := range []rueidis.Completed{
		j.client.B().Zrem().Key(fairDeadlines).Member(j.owner).Build(),
		j.client.B().Lrem().Key(fairQueue).Count(0).Element(j.owner).Build(),
	} {
		if err := j.client.Do(context.Background(), command).Error(); err != nil {
			j.t.Fatalf("%s gives up: %v", j.owner, err)
		}
	}
}

func (j *javaCaller) unlock() {
	j.t.Helper()
	err := j.client.Do(context.Background(), j.client.B().Eval().Script(fairJavaUnlock).Numkeys(4).
		Key(fairName, fairQueue, fairDeadlines, scripts.LockChannel(fairName)).Arg(j.owner, j.now()).Build()).Error()
	if err != nil {
		j.t.Fatalf("%s unlocks: %v", j.owner, err)
	}
}

// wantQueue asserts who waits in Redis, by the ends of their owners' names.
func wantQueue(t *testing.T, s *redistest.Server, n int64) []string {
	t.Helper()
	awaitLength(t, s, fairQueue, n)
	owners := s.MustDo("LRANGE", fairQueue, "0", "-1").Texts()
	if int64(len(owners)) != n {
		t.Fatalf("%d wait, want %d: %q", len(owners), n, owners)
	}
	return owners
}

// left is how long a waiter lives for Redisson.
func left(t *testing.T, s *redistest.Server, owner string) time.Duration {
	t.Helper()
	score, err := strconv.ParseInt(s.MustDo("ZSCORE", fairDeadlines, owner).Text, 10, 64)
	if err != nil {
		t.Fatalf("the deadline of %s: %v", owner, err)
	}
	return time.Until(time.UnixMilli(score))
}

func TestFairSharesTheQueueWithRedisson(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := testkit.Connect(t, s.Addr())
	m := e.FairMutex(fairName)
	held := testkit.MustLock(t, m)

	// Ours and Redisson's in turn, each waiting when the next one comes.
	var ours []func() *engine.Hold
	var theirs []*javaCaller
	for i := range 4 {
		f := m.LockAsync(context.Background())
		ours = append(ours, func() *engine.Hold {
			h, err := f.Wait(testkit.Soon(t))
			if err != nil {
				t.Fatalf("our waiter: %v", err)
			}
			return h
		})
		wantQueue(t, s, int64(2*i+1))
		j := java(t, s.Addr(), strconv.Itoa(i), 5*time.Minute)
		j.queue()
		theirs = append(theirs, j)
		wantQueue(t, s, int64(2*i+2))
	}
	testkit.MustUnlock(t, held)
	for i, j := range theirs {
		h := ours[i]()
		if h.TenureID() != testkit.Owners(s, fairName)[0] {
			t.Errorf("the owner in Redis is %q, want %q", testkit.Owners(s, fairName), h.TenureID())
		}
		if _, taken := j.ask(); taken {
			t.Fatal("Redisson took the lock that we hold")
		}
		testkit.MustUnlock(t, h)
		j.called()
		if _, err := m.TryLock(t.Context()); err == nil {
			t.Fatal("we took the lock that Redisson holds")
		}
		j.unlock()
	}
	checkFree(t, s, e)
}

func TestFairDeadlinesSuitRedisson(t *testing.T) {
	t.Parallel()
	const redissons = 5 * time.Minute // its fairLockWaitTimeout
	near := func(t *testing.T, what string, got, want time.Duration) {
		t.Helper()
		if got < want-testkit.Patience || got > want+testkit.Patience {
			t.Errorf("%s lives for %v, want about %v", what, got, want)
		}
	}
	t.Run("the first of ours lives as long as one of its own", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := testkit.Connect(t, s.Addr())
		testkit.MustLock(t, e.FairMutex(fairName))
		e.FairMutex(fairName).LockAsync(context.Background())
		near(t, "ours", left(t, s, wantQueue(t, s, 1)[0]), redissons)
	})
	t.Run("they do not grow with the number of ours", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := testkit.Connect(t, s.Addr())
		testkit.MustLock(t, e.FairMutex(fairName))
		for range 100 {
			e.FairMutex(fairName).LockAsync(context.Background())
		}
		near(t, "the last of ours", left(t, s, wantQueue(t, s, 100)[99]), redissons)
		j := java(t, s.Addr(), "1", redissons)
		j.queue()
		near(t, "Redisson's behind them", left(t, s, j.owner), 2*redissons)
	})
	t.Run("behind Redisson's they outlive its turn", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := testkit.Connect(t, s.Addr())
		j, k := java(t, s.Addr(), "1", redissons), java(t, s.Addr(), "2", redissons)
		if _, taken := j.ask(); !taken {
			t.Fatal("the lock was not free")
		}
		k.queue()
		e.FairMutex(fairName).LockAsync(context.Background())
		ours := wantQueue(t, s, 2)[1]
		before := left(t, s, ours)
		j.unlock()
		k.called() // takes its wait off all behind it
		near(t, "ours", left(t, s, ours), before-redissons)
		k.unlock()
		redistest.Await(t, "our turn", func() bool { return e.Stats().Held == 1 })
	})
	t.Run("when ours have had their turn, Redisson's has its own wait left", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := testkit.Connect(t, s.Addr())
		held := testkit.MustLock(t, e.FairMutex(fairName))
		second := e.FairMutex(fairName).LockAsync(context.Background())
		wantQueue(t, s, 1)
		j, k := java(t, s.Addr(), "1", 2*time.Minute), java(t, s.Addr(), "2", time.Minute)
		j.queue()
		k.queue()
		testkit.MustUnlock(t, held)
		if _, err := second.Wait(testkit.Soon(t)); err != nil {
			t.Fatal(err)
		}
		near(t, "the first", left(t, s, j.owner), 30*time.Second+2*time.Minute)
		near(t, "the second", left(t, s, k.owner), 30*time.Second+3*time.Minute)
	})
	t.Run("a queue that waits for long stays alive", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := testkit.Connect(t, s.Addr(), func(o *engine.Options) { o.FairWaiterLease = 2 * time.Second })
		held := testkit.MustLock(t, e.FairMutex(fairName))
		for range 3 {
			e.FairMutex(fairName).LockAsync(context.Background()).Then(func(h *engine.Hold, err error) {
				if err == nil {
					h.UnlockAsync()
				}
			})
		}
		queue := wantQueue(t, s, 3)
		for _, owner := range queue { // as if they had waited for almost five minutes
			s.MustDo("ZADD", fairDeadlines, strconv.FormatInt(time.Now().Add(5*time.Second).UnixMilli(), 10), owner)
		}
		redistest.Await(t, "head and tail to be kept alive", func() bool {
			return left(t, s, queue[0]) > time.Minute && left(t, s, queue[2]) > time.Minute
		})
		if left(t, s, queue[1]) > time.Minute {
			t.Error("one in the middle was looked at, too")
		}
		testkit.MustUnlock(t, held)
		checkFree(t, s, e)
	})
	t.Run("ours that Redisson has purged by mistake keep their turn", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := testkit.Connect(t, s.Addr())
		j := java(t, s.Addr(), "1", redissons)
		if _, taken := j.ask(); !taken {
			t.Fatal("the lock was not free")
		}
		var served []string
		done := make(chan string, 3)
		for range 3 {
			e.FairMutex(fairName).LockAsync(context.Background()).Then(func(h *engine.Hold, err error) {
				if err != nil {
					t.Errorf("our waiter: %v", err)
					return
				}
				done <- h.TenureID()
				h.UnlockAsync()
			})
		}
		queue := wantQueue(t, s, 3)
		behind := java(t, s.Addr(), "2", redissons)
		behind.queue()
		j.clock = 8 * time.Minute // it goes by its own clock, and purges everybody
		behind.clock = j.clock
		j.unlock()
		for range queue {
			served = append(served, testkit.Receive(t, "one of our waiters", done))
		}
		if got, want := strings.Join(served, " "), strings.Join(queue, " "); got != want {
			t.Errorf("served %s, want %s", got, want)
		}
	})
}

func TestFairWaiterThatDied(t *testing.T) {
	t.Parallel()
	dead := "dead0000-0000-4000-8000-000000000000"
	stand := func(s *redistest.Server, life, deadline time.Duration) string {
		now := time.Now()
		owner := dead + ":1"
		s.MustDo("RPUSH", fairQueue, owner)
		s.MustDo("ZADD", fairDeadlines, strconv.FormatInt(now.Add(deadline).UnixMilli(), 10), owner)
		s.MustDo("ZADD", fairAlive, strconv.FormatInt(now.Add(life).UnixMilli(), 10), dead)
		return owner
	}
	t.Run("delays ours by its engine's life, without busy asking", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := testkit.Connect(t, s.Addr())
		stand(s, time.Second, 5*time.Minute)
		start, before := time.Now(), s.CommandCounts()["evalsha"]
		testkit.MustLock(t, e.FairMutex(fairName))
		if took := time.Since(start); took < 900*time.Millisecond || took > testkit.Patience/2 {
			t.Errorf("taken after %v, want about a second", took)
		}
		if asked := s.CommandCounts()["evalsha"] - before; asked > 10 {
			t.Errorf("asked %d times meanwhile", asked)
		}
	})
	t.Run("is skipped by Redisson alone when its deadline is over", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		owner := stand(s, -time.Minute, 5*time.Minute)
		j := java(t, s.Addr(), "1", 5*time.Minute)
		j.queue()
		j.clock = 4 * time.Minute
		if _, taken := j.ask(); taken {
			t.Errorf("%s was skipped early", owner)
		}
		j.clock = 6 * time.Minute
		if _, taken := j.ask(); !taken {
			t.Errorf("%s was not skipped", owner)
		}
	})
	t.Run("is skipped for Redisson by one of ours", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		stand(s, -time.Minute, 5*time.Minute)
		j := java(t, s.Addr(), "1", 5*time.Minute)
		j.queue()
		e := testkit.Connect(t, s.Addr())
		if _, err := e.FairMutex(fairName).TryLock(t.Context()); err == nil {
			t.Error("TryLock passed by the queue")
		}
		if _, taken := j.ask(); !taken {
			t.Error("Redisson's still waits for the dead")
		}
	})
}

// Redisson's waiter that gives up just when it was called calls nobody else: the next of its kind would sleep beside
// a free lock until the last lease had run out, and ours behind it.
func TestFairWaiterBehindAGiverUpIsCalled(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	m := testkit.Connect(t, s.Addr(), func(o *engine.Options) { o.PollCap, o.FairWaiterLease = time.Hour, time.Second }).FairMutex(fairName)
	held := testkit.MustLock(t, m)
	first, second := java(t, s.Addr(), "1", time.Minute), java(t, s.Addr(), "2", time.Minute)
	first.queue()
	second.queue()
	ours := m.LockAsync(context.Background())
	wantQueue(t, s, 3)
	testkit.MustUnlock(t, held)
	testkit.Receive(t, "the first one to be called", first.granted)
	first.giveUp()
	second.called()
	second.unlock()
	h, err := ours.Wait(testkit.Soon(t))
	if err != nil {
		t.Fatal(err)
	}
	testkit.MustUnlock(t, h)
}
