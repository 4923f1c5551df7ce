package redistest

import (
	"bufio"
	"context"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

func TestProxyPassesEverything(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	if p.URL() != "redis://"+p.Addr() {
		t.Errorf("URL %s of %s", p.URL(), p.Addr())
	}
	t.Run("bytes", func(t *testing.T) {
		c := dial(t, p)
		value := randomText(3 << 20) // more than a stream keeps
		if got := c.ask("SET", "k", value); got.Text != "OK" {
			t.Fatalf("SET: %v", got)
		}
		if got := c.ask("GET", "k").Text; got != value {
			t.Errorf("read %d bytes, want the %d written", len(got), len(value))
		}
		if got := p.Stats(); got.ToServer < 3<<20 || got.ToClient < 3<<20 || got.Open != 1 || got.Accepted != 1 {
			t.Errorf("%+v, want 3 MiB each way on one connection", got)
		}
	})
	t.Run("the client's half-close", func(t *testing.T) {
		c := dial(t, p)
		c.ask("PING")
		if err := c.conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		c.wantEOF()
	})
	t.Run("the server's hanging up", func(t *testing.T) {
		c := dial(t, p)
		c.ask("PING")
		s.KillClients("normal")
		c.wantEOF()
	})
	Await(t, "the end of all links", func() bool { return p.Stats().Open == 0 })
}

func TestProxyOutlivesItsServer(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	s.Kill()
	wantNoConnection(t, p)
	if got := p.Stats(); got.Refused != 1 || got.Open != 0 {
		t.Errorf("%+v, want 1 refused", got)
	}
	s.Restart()
	if got := dial(t, p).ask("PING"); got.Text != "PONG" {
		t.Errorf("after the restart: %v", got)
	}
}

func TestProxyCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	c := dial(t, p)
	c.ask("PING")
	p.BlackHole(Both, true)
	p.CutEvery(time.Hour)
	stuck := dial(t, p) // its link waits to dial
	Await(t, "the second link", func() bool { return p.Stats().Open == 2 })
	p.Close()
	p.Close()
	c.wantReset()
	stuck.wantReset()
	p.CutEvery(time.Hour) // starts nothing any more
	if conn, err := net.Dial("tcp", p.Addr()); err == nil {
		_ = conn.Close()
		t.Error("a closed proxy accepts connections")
	}
}

// TestProxyUnderARealClient shows that a full client's handshake, pipelines and subscriptions leave the
// proxy knowing which answer is whose.
func TestProxyUnderARealClient(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	real, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{p.Addr()}, ForceSingleClient: true, DisableCache: true, DisableRetry: true,
		AlwaysPipelining: true, PipelineMultiplex: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer real.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	messages := make(chan string, 10)
	listening, stop := real.Dedicate()
	defer stop()
	listening.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) { messages <- m.Message }})
	if err := listening.Do(ctx, real.B().Subscribe().Channel("c", "d").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	p.LoseMessages(1)
	s.MustDo("PUBLISH", "c", "lost")
	Await(t, "a lost message", func() bool { return p.Stats().LostMessages == 1 })
	p.LoseMessages(0)
	s.MustDo("PUBLISH", "d", "heard")
	if got := <-messages; got != "heard" {
		t.Errorf("heard %q", got)
	}

	p.SwallowReply(Swallow{Match: Command("INCR", "n"), Nth: 3})
	for want := int64(1); want <= 2; want++ {
		if got, err := real.Do(ctx, real.B().Incr().Key("n").Build()).AsInt64(); err != nil || got != want {
			t.Fatalf("answer %d, %v; want %d", got, err, want)
		}
	}
	if err := real.Do(ctx, real.B().Incr().Key("n").Build()).Error(); err == nil {
		t.Error("the third answer arrived")
	}
	if got := s.MustDo("GET", "n").Text; got != "3" {
		t.Errorf("%s requests ran, want 3", got)
	}
	if got := p.Stats(); got.Swallowed != 1 || got.Opaque != 0 {
		t.Errorf("%+v, want 1 swallowed, all RESP", got)
	}
}

// TestProxyKeepsTheStreamWhole: under faults that lose nothing, every byte arrives once and in order.
func TestProxyKeepsTheStreamWhole(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	p.Latency(Both, 2*time.Millisecond, 2*time.Millisecond)
	p.Bandwidth(Both, 5<<20)
	var toggling sync.WaitGroup
	defer toggling.Wait()
	stop := make(chan struct{})
	defer close(stop)
	toggling.Go(func() {
		tick := time.NewTicker(3 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.BlackHole(ClientToServer, rand.IntN(2) == 0)
				p.BlackHole(ServerToClient, rand.IntN(2) == 0)
			case <-stop:
				return
			}
		}
	})
	c := dial(t, p)
	for range 5 {
		value := randomText(1 + rand.IntN(200<<10))
		c.ask("SET", "k", value)
		if got := c.ask("GET", "k").Text; got != value {
			t.Fatalf("read %d bytes, want the %d written", len(got), len(value))
		}
	}
}

// TestProxyUnderAllFaultsAtOnce: whatever is switched in whatever order, the proxy stays sound: nothing
// runs that was not sent, nothing is answered that did not run, and nothing hangs at the end.
func TestProxyUnderAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var sent, answered atomic.Int64
	var clients sync.WaitGroup
	stop := make(chan struct{})
	for range 6 {
		clients.Go(func() { incrementUntil(stop, p.Addr(), &sent, &answered) })
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for n, over := 0, time.Now().Add(patience); n < 250 || answered.Load() == 0 && time.Now().Before(over); n++ {
		<-tick.C
		switchSomething(p, random)
	}
	close(stop)
	p.BlackHole(Both, false)
	p.HoldRequests(0)
	p.Release()
	p.Cut() // frees clients that wait on connections with holes
	p.RefuseNew(true)
	clients.Wait()
	p.Close()
	Await(t, "a server without clients", func() bool { return s.ClientCount("normal") == 0 })
	ran, _ := strconv.ParseInt(s.MustDo("GET", "n").Text, 10, 64)
	if ran > sent.Load() || ran < answered.Load() || answered.Load() == 0 {
		t.Errorf("%d sent, %d ran, %d answered: want them in falling order", sent.Load(), ran, answered.Load())
	}
	if got := p.Stats(); got.Opaque != 0 || got.Open != 0 {
		t.Errorf("%+v, want all RESP and none open", got)
	}
}

// incrementUntil asks for INCR n on one connection after the other until stop is closed.
func incrementUntil(stop <-chan struct{}, addr string, sent, answered *atomic.Int64) {
	request := resp.AppendCommand(nil, "INCR", "n")
	for {
		select {
		case <-stop:
			return
		default:
		}
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			continue
		}
		reader := bufio.NewReader(conn)
		for {
			_ = conn.SetDeadline(time.Now().Add(20 * time.Millisecond)) // fails as the write will
			sent.Add(1)
			if _, err := conn.Write(request); err != nil {
				break
			}
			if resp.Read(reader).Lost() != nil {
				break
			}
			answered.Add(1)
		}
		_ = conn.Close()
	}
}

// switchSomething changes one fault at random.
func switchSomething(p *Proxy, random *rand.Rand) {
	dir, on := Direction(1+random.IntN(3)), random.IntN(3) == 0
	some := time.Duration(random.IntN(5)) * time.Millisecond
	switch random.IntN(12) {
	case 0:
		p.Latency(dir, some, some/2)
	case 1:
		p.Bandwidth(dir, 10_000*random.IntN(3))
	case 2:
		p.BlackHole(dir, on)
	case 3:
		p.Drop(dir, on)
	case 4:
		p.Cut()
	case 5:
		p.CutAfter(dir, int64(random.IntN(100)-50))
	case 6:
		p.CutEvery(10 * some)
	case 7:
		p.HalfClose(dir)
	case 8:
		p.RefuseNew(on)
	case 9:
		p.SwallowReply(Swallow{Match: Command("INCR"), Nth: 1 + random.IntN(3)})
	case 10:
		p.HoldRequests(some)
	case 11:
		p.SlowClose(dir, some)
	}
}

// randomText has every byte, line ends among them.
func randomText(length int) string {
	text := make([]byte, length)
	for i := range text {
		text[i] = byte(rand.IntN(256))
	}
	return string(text)
}
