package redistest

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// newAnswers makes an answers of a proxy that carries nothing.
func newAnswers(p *Proxy, asked ...string) *answers {
	a := &answers{proxy: p, requests: &requests{}}
	for _, words := range asked {
		a.requests.ask(words)
	}
	return a
}

// passAll passes a stream in pieces of size bytes, until the end or a cut.
func (a *answers) passAll(stream string, size int) (out string, cut bool) {
	for piece := range slices.Chunk([]byte(stream), size) {
		passed, cut := a.pass(piece)
		if out += string(passed); cut {
			return out, true
		}
	}
	return out, false
}

func TestAnswersSwallow(t *testing.T) {
	const (
		push   = ">3\r\n+message\r\n+c\r\n+GET\r\n"
		stream = "%1\r\n+proto\r\n:3\r\n" + push + ">3\r\n+subscribe\r\n+c\r\n:1\r\n+A\r\n" + push + "$1\r\nB\r\n:3\r\n"
	)
	asked := []string{"HELLO 3", "SUBSCRIBE c", "GET a", "GET b", "INCR c"}
	for _, c := range []struct {
		name string
		rule Swallow
		lost string // the stream from here on; empty: nothing
	}{
		{"the first by default", Swallow{}, "%1"},
		{"the nth that matches", Swallow{Match: Command("get"), Nth: 2}, "$1\r\nB"},
		{"by later arguments", Swallow{Match: Command("GET", "b")}, "$1\r\nB"},
		{"none that does not match", Swallow{Match: Command("GET", "c")}, ""},
		{"none before the nth", Swallow{Nth: 5}, ""},
		{"not counting subscriptions and messages", Swallow{Nth: 4}, ":3\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for size := range len(stream) {
				p := &Proxy{}
				p.SwallowReply(c.rule)
				out, cut := newAnswers(p, asked...).passAll(stream, size+1)
				want := stream
				if c.lost != "" {
					want = stream[:strings.LastIndex(stream, c.lost)]
				}
				if out != want || cut != (c.lost != "") || (p.stats.Swallowed == 1) != cut {
					t.Fatalf("in pieces of %d: passed %q, cut %v, counted %d; want %q", size+1, out, cut, p.stats.Swallowed, want)
				}
			}
		})
	}
	t.Run("as often as told", func(t *testing.T) {
		p := &Proxy{}
		p.SwallowReply(Swallow{Nth: 2, Times: 2})
		cuts := ""
		for range 6 {
			_, cut := newAnswers(p, "PING").passAll("+PONG\r\n", 3)
			cuts += map[bool]string{true: "x", false: "-"}[cut]
		}
		p.SwallowReply(Swallow{Times: -1})
		for range 3 {
			_, cut := newAnswers(p, "PING").passAll("+PONG\r\n", 3)
			cuts += map[bool]string{true: "x", false: "-"}[cut]
		}
		p.SwallowNothing()
		_, cut := newAnswers(p, "PING").passAll("+PONG\r\n", 3)
		if cuts != "-x-x--xxx" || cut {
			t.Errorf("cuts %s and %v, want -x-x--xxx and none", cuts, cut)
		}
	})
}

func TestAnswersLoseMessages(t *testing.T) {
	const (
		confirm = ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"
		message = ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n"
		shard   = ">3\r\n$8\r\nsmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n"
		answer  = "*1\r\n$7\r\nmessage\r\n"
	)
	long := ">1\r\n$1000\r\n" + strings.Repeat("x", 1000) + "\r\n" // no message, and never told apart
	stream := confirm + message + answer + shard + long + message
	for size := range len(stream) {
		p := &Proxy{}
		p.LoseMessages(1)
		out, cut := newAnswers(p, "SUBSCRIBE c", "KEYS *").passAll(stream, size+1)
		if want := confirm + answer + long; out != want || cut || p.stats.LostMessages != 3 {
			t.Fatalf("in pieces of %d: passed %q, %d lost; want %q, 3", size+1, out, p.stats.LostMessages, want)
		}
		p.LoseMessages(0)
		if out, _ := newAnswers(p).passAll(stream, size+1); out != stream {
			t.Fatalf("in pieces of %d: passed %q, want all", size+1, out)
		}
	}
}

func TestAnswersPassWhatIsNotRESP(t *testing.T) {
	const stream = "+OK\r\n>1\r\n\x16\x03\x01 a TLS record\r\n+OK\r\n"
	for size := range len(stream) {
		p := &Proxy{}
		p.SwallowReply(Swallow{Nth: 2})
		p.LoseMessages(1)
		out, cut := newAnswers(p, "PING", "PING").passAll(stream, size+1)
		if out != stream || cut || p.stats.Opaque != 1 {
			t.Fatalf("in pieces of %d: passed %q, cut %v, %d given up; want all, 1", size+1, out, cut, p.stats.Opaque)
		}
	}
}

func TestProxySwallowsAnAnswer(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	digest := s.MustDo("SCRIPT", "LOAD", "return redis.call('INCR', KEYS[1])").Text
	p.SwallowReply(Swallow{Match: Command("EVALSHA", digest), Nth: 2})

	c := dial(t, p)
	c.ask("PING")
	if got := c.ask("EVALSHA", digest, "1", "n").Int; got != 1 {
		t.Fatalf("the first answer is %d, want 1", got)
	}
	c.send("EVALSHA", digest, "1", "n")
	c.wantReset()
	if got := s.MustDo("GET", "n").Text; got != "2" {
		t.Errorf("the script ran %s times, want 2: a swallowed answer is to a request that ran", got)
	}
	if got := dial(t, p).ask("EVALSHA", digest, "1", "n").Int; got != 3 {
		t.Errorf("on a new connection: %d, want 3", got)
	}
	if got := p.Stats(); got.Swallowed != 1 || got.Opaque != 0 {
		t.Errorf("%+v, want 1 swallowed", got)
	}
}

func TestProxySwallowsInAPipeline(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	p.SwallowReply(Swallow{Nth: 3})
	c := dial(t, p)
	var pipeline []byte
	for range 5 {
		pipeline = resp.AppendCommand(pipeline, "INCR", "n")
	}
	c.write(pipeline)
	for want := int64(1); ; want++ {
		reply := resp.Read(c.reader)
		err := reply.Lost()
		if errors.Is(err, syscall.ECONNRESET) && want <= 3 {
			break // a reset may overtake answers that were delivered and not read
		}
		if err != nil || reply.Int != want || want == 3 {
			t.Fatalf("answer %d is %v, %v; want a reset at 3", want, reply, err)
		}
	}
	Await(t, "the end of the link", func() bool { return p.Stats().Open == 0 })
	if got := s.MustDo("GET", "n").Text; got != "5" {
		t.Errorf("%s requests ran, want all 5", got)
	}
}
