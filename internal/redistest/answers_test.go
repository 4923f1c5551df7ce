package redistest

import (
	"strings"
	"testing"
)

func TestProxySwallowsAnAnswer(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	digest := s.MustDo("SCRIPT", "LOAD", "return redis.call('INCR', KEYS[1])").Text
	p.SwallowReply(Swallow{Match: digest, Nth: 2, Times: 2})

	c := dial(t, p)
	c.ask("PING")
	if got := c.ask("EVALSHA", digest, "1", "n").Int; got != 1 {
		t.Fatalf("the first answer is %d, want 1", got)
	}
	c.write([]byte("*4\r\n$7\r\nEVALSHA\r\n$40\r\n" + digest[:20])) // in two pieces
	Await(t, "the first piece on its way", func() bool { return p.Stats().WaitingToServer == 0 })
	c.write([]byte(digest[20:] + "\r\n$1\r\n1\r\n$1\r\nn\r\n"))
	c.wantReset()
	Await(t, "the script to have run twice: a swallowed answer is to a request that runs", func() bool { return s.MustDo("GET", "n").Text == "2" })
	c = dial(t, p)
	if got := c.ask("EVALSHA", digest, "1", "n").Int; got != 3 {
		t.Errorf("on a new connection: %d, want 3", got)
	}
	c.send("EVALSHA", digest, "1", "n")
	c.wantReset()
	c = dial(t, p)
	for want := int64(5); want < 8; want++ {
		if got := c.ask("EVALSHA", digest, "1", "n").Int; got != want {
			t.Errorf("as often as told, and once more: %d, want %d", got, want)
		}
	}
	p.SwallowReply(Swallow{Match: digest, Times: -1})
	c.send("EVALSHA", digest, "1", "n")
	c.wantReset()
	p.SwallowNothing()
	dial(t, p).ask("EVALSHA", digest, "1", "n")
	if got := p.Stats().Swallowed; got != 3 {
		t.Errorf("%d are counted, want 3", got)
	}
}

func TestProxyLosesMessages(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	c := dial(t, p)
	c.send("HELLO", "3")
	c.send("SUBSCRIBE", "c")
	for line := ""; !strings.HasPrefix(line, ":1"); { // the number of its channels ends the confirmation
		var err error
		if line, err = c.reader.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	p.LoseMessages()
	s.MustDo("PUBLISH", "c", "hi")
	if got := c.ask("PING").Text; got != "PONG" {
		t.Errorf("heard %q, want nothing before the answer", got)
	}
}
