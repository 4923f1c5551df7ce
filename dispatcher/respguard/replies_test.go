package respguard

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/dispatcher/quietsocket"
)

// asked is a guarded connection over which commands were sent, and which answers in these pieces.
func asked(tb testing.TB, commands, answers []string) *guarded {
	g := guard(&scripted{reads: answers})
	for _, c := range commands {
		if _, err := g.Write([]byte(encoded(strings.Fields(c)...))); err != nil {
			tb.Fatal(err)
		}
	}
	return g
}

// encoded is a command as the client writes it.
func encoded(args ...string) string {
	var b strings.Builder
	b.WriteString("*" + digits(len(args)) + "\r\n")
	for _, a := range args {
		b.WriteString("$" + digits(len(a)) + "\r\n" + a + "\r\n")
	}
	return b.String()
}

func digits(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return digits(n/10) + digits(n%10)
}

// bulk are values of RESP, each a string of known length.
func bulk(texts ...string) string {
	_, values, _ := strings.Cut(encoded(texts...), "\r\n")
	return values
}

// readAll reads until the answers end or the connection does, and returns what came through.
func readAll(g *guarded, pieces int) (string, error) {
	var all strings.Builder
	b := make([]byte, 4<<10)
	for range pieces {
		n, err := g.Read(b)
		if err != nil {
			return all.String(), err
		}
		all.Write(b[:n])
	}
	return all.String(), nil
}

// Every reply is expected, and every value is one that a reply of ours can have; also when it comes byte by byte.
func TestAReplyIsOneThatIsExpected(t *testing.T) {
	const hello3 = "%1\r\n$5\r\nproto\r\n:3\r\n"
	sub := func(kind string) string { return ">3\r\n" + bulk(kind, "c") + ":1\r\n" }
	sub2 := func(kind string) string { return "*3\r\n" + bulk(kind, "c") + ":1\r\n" }
	for _, c := range []struct {
		name     string
		commands string // divided by commas
		answers  string
		breaks   bool
	}{
		{"an integer", "EVALSHA x", ":1\r\n", false},
		{"a list", "EVALSHA x", "*2\r\n:1\r\n:-22\r\n", false},
		{"every type", "GET x", "*11\r\n+a\r\n-ERR b\r\n:1\r\n$1\r\na\r\n_\r\n,1.5\r\n#t\r\n(12\r\n=5\r\ntxt:a\r\n%1\r\n+a\r\n~1\r\n:1\r\n*0\r\n", false},
		{"nulls", "GET x,GET y", "$-1\r\n*-1\r\n", false},
		{"an attribute before it", "GET x", "|1\r\n+ttl\r\n:5\r\n:1\r\n", false},
		{"an attribute within it", "GET x", "*1\r\n|1\r\n+ttl\r\n:5\r\n:1\r\n", false},
		{"a push before it", "GET x", ">2\r\n" + bulk("invalidate") + "*1\r\n" + bulk("k") + ":1\r\n", false},
		{"protocol within a text", "GET x", "$13\r\n\r\n-ERR\r\n*9\r\n:\r\n", false},
		{"an attribute before the second", "GET x,GET y", ":1\r\n|1\r\n+ttl\r\n:5\r\n:1\r\n", false},
		{"the longest integers", "GET x,GET y", ":9223372036854775807\r\n:-9223372036854775808\r\n", false},
		{"a longer integer", "GET x", ":10000000000000000000\r\n", true},
		{"a length of 19 digits", "GET x", "$1000000000000000000\r\n", true},
		{"one more", "GET x", ":1\r\n:1\r\n", true},
		{"one to nothing", "", "+OK\r\n", true},
		{"a text without its end", "GET x", "$1\r\nabc\r\n", true},
		{"a push within a reply", "GET x", "*1\r\n>1\r\n:1\r\n", true},
		{"a negative length", "GET x", "*-3\r\n", true},
		{"a long list", "GET x", "*65537\r\n", true},
		{"a long list where it may be", "CLUSTER SLOTS", "*65537\r\n", false},
		{"long lists together", "GET x", "*2\r\n*40000\r\n" + strings.Repeat(":1\r\n", 40000) + "*40000\r\n", true},
		{"a long text", "GET x", "$1048577\r\n", true},
		{"a long text where it may be", "CLIENT LIST TYPE NORMAL", "$4194305\r\n", false},
		{"a longer one", "CLIENT LIST TYPE NORMAL", "$33554433\r\n", true},
		{"a long text for another command of its name", "CLIENT SETNAME x", "$1048577\r\n", true},
		{"deep lists", "GET x", strings.Repeat("*1\r\n", maxDepth+1), true},
		{"no end of a line", "GET x", "+" + strings.Repeat("x", maxLine+1), true},
		{"no CR", "GET x", "+x\n", true},
		{"a redirection to nowhere", "GET x", "-MOVED 7\r\n", true},
		{"a redirection", "GET x", "-MOVED 7 a:1\r\n", false},
		{"a role that is none", "ROLE", "*0\r\n", true},
		{"a role of one word", "ROLE", "*1\r\n" + bulk("sentinel"), false},
		{"half an address", "SENTINEL GET-MASTER-ADDR-BY-NAME m", "*1\r\n" + bulk("host"), true},

		{"confirmations", "HELLO 3,SUBSCRIBE a b,PING", hello3 + sub("subscribe") + sub("subscribe") + "+PONG\r\n", false},
		{"messages between", "HELLO 3,SUBSCRIBE a,PING", hello3 + sub("subscribe") + ">3\r\n" + bulk("message", "a", "-B") + "+PONG\r\n", false},
		{"a refused subscription", "HELLO 3,SUBSCRIBE a b,PING", hello3 + "-NOPERM x\r\n+PONG\r\n", false},
		{"a confirmation too many", "HELLO 3,SUBSCRIBE a", hello3 + sub("subscribe") + sub("subscribe"), true},
		{"a confirmation of nothing", "HELLO 3,PING", hello3 + sub("subscribe"), true},
		{"a confirmation that says nothing", "HELLO 3,SUBSCRIBE a", hello3 + ">1\r\n" + bulk("subscribe"), true},
		{"a reply in place of a confirmation", "HELLO 3,SUBSCRIBE a", hello3 + "+QUEUED\r\n", true},
		{"a refusal between confirmations", "HELLO 3,SUBSCRIBE a b", hello3 + sub("subscribe") + "-ERR x\r\n", true},
		{"the end of a subscription between confirmations", "HELLO 3,SUBSCRIBE a b", hello3 + sub("subscribe") + sub("sunsubscribe"), true},
		{"the end of a subscription by itself", "HELLO 3,PING", hello3 + sub("sunsubscribe") + "+PONG\r\n", false},
		{"giving up", "HELLO 3,UNSUBSCRIBE a,PING,GET x", hello3 + sub("unsubscribe") + "+PONG\r\n:1\r\n", false},
		{"giving up what is not there", "HELLO 3,SUNSUBSCRIBE a,PING,GET x", hello3 + "-ERR unknown command `SUNSUBSCRIBE`\r\n+PONG\r\n:1\r\n", false},
		{"giving up what was refused, on Valkey 8.0", "HELLO 3,UNSUBSCRIBE a,PING", hello3 + "-NOSUB 'unsubscribe' command executed not in subscribed mode\r\n+PONG\r\n", false},
		{"giving up without a PONG", "HELLO 3,UNSUBSCRIBE a,PING,GET x", hello3 + "-NOPERM x\r\n:1\r\n", true},
		{"an event of a sentinel", "HELLO 3", hello3 + ">3\r\n" + bulk("message", "+switch-master", "m a 1 b 2"), false},
		{"half an event of a sentinel", "HELLO 3", hello3 + ">3\r\n" + bulk("message", "+switch-master", "m a 1"), true},

		{"RESP2", "SUBSCRIBE a b,PING", sub2("subscribe") + sub2("subscribe") + "*2\r\n" + bulk("pong", ""), false},
		{"RESP2: messages", "SUBSCRIBE a", sub2("subscribe") + "*3\r\n" + bulk("message", "a", "-B") + "*3\r\n" + bulk("message", "a", "0"), false},
		{"RESP2: giving up", "SUBSCRIBE a,UNSUBSCRIBE a,PING,PING", sub2("subscribe") + sub2("unsubscribe") + "+PONG\r\n+PONG\r\n", false},
		{"RESP2: a PONG too many", "SUBSCRIBE a", sub2("subscribe") + "*2\r\n" + bulk("pong", ""), true},
		{"RESP2: a confirmation too many", "SUBSCRIBE a", sub2("subscribe") + sub2("subscribe"), true},
		{"RESP2: a reply too many", "SUBSCRIBE a", sub2("subscribe") + "+OK\r\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			commands := strings.FieldsFunc(c.commands, func(r rune) bool { return r == ',' })
			for _, pieces := range [][]string{{c.answers}, strings.Split(c.answers, "")} {
				if len(pieces) > 4<<10 {
					continue
				}
				var reads []string
				for _, p := range pieces {
					for some := range slices.Chunk([]byte(p), 4<<10) {
						reads = append(reads, string(some))
					}
				}
				came, err := readAll(asked(t, commands, reads), len(reads))
				if (err != nil) != c.breaks {
					t.Errorf("in %d pieces: %v, want an error: %v", len(reads), err, c.breaks)
				}
				if err == nil && came != c.answers {
					t.Errorf("%q came through of %q", came, c.answers)
				}
			}
		})
	}
}

// A refusal of HELLO is told in the words that the client knows, in whatever pieces it comes; any other error is not touched.
func TestARefusedHelloIsToldInTheClientsWords(t *testing.T) {
	for words, want := range map[string]string{
		"-NOPROTO unsupported protocol version": string(unknownHello), "-NOPROTO": string(unknownHello),
		"-NOPERM this user has no permissions to run the 'hello' command": string(unknownHello),
		"-WRONGPASS invalid username-password pair":                       "-WRONGPASS invalid username-password pair",
		"-ERR max number of clients reached":                              "-ERR max number of clients reached",
	} {
		answer := "+OK\r\n" + words + "\r\n:1\r\n"
		for _, reads := range [][]string{{answer}, strings.Split(answer, "")} {
			g := asked(t, []string{"AUTH x", "HELLO 2", "GET x"}, reads)
			var came strings.Builder
			b := make([]byte, 4<<10)
			for len(g.Conn.(*scripted).reads) > 0 {
				n, err := g.Read(b)
				if err != nil {
					t.Fatal(err)
				}
				came.Write(b[:n])
			}
			if got := came.String(); got != "+OK\r\n"+want+"\r\n:1\r\n" {
				t.Errorf("%q became %q", words, got)
			}
		}
	}
}

// A reply that came before the command is not its answer.
func TestAReplyThatCameEarlyAnswersNothing(t *testing.T) {
	near, far := sockets(t)
	g := guard(quietsocket.Wrap(near))
	if g.peeks == nil {
		t.Skip("SKIPPED: on this system nobody can look ahead on a socket. NOT PROVED: that a reply that came early answers nothing.")
	}
	b := make([]byte, 64)
	for range 3 {
		if _, err := g.Write([]byte(encoded("GET", "x"))); err != nil {
			t.Fatal(err)
		}
		if _, err := far.Write([]byte(":1\r\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Read(b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := far.Write([]byte(">2\r\n" + bulk("invalidate") + "_\r\n:7\r\n")); err != nil {
		t.Fatal(err)
	}
	for g.peeks.Peek(b) == 0 {
	}
	if _, err := g.Write([]byte(encoded("GET", "y"))); !errors.Is(err, errUnasked) {
		t.Errorf("the next command: %v, want %v", err, errUnasked)
	}
}

// sockets are the two ends of a connection.
func sockets(tb testing.TB) (near, far net.Conn) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	if near, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		tb.Fatal(err)
	}
	if far, err = listener.Accept(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// Whatever comes, in whatever pieces: no panic, the same verdict, and what passes is what came.
func FuzzReplies(f *testing.F) {
	for _, seed := range []string{":1\r\n", "*2\r\n:1\r\n+a\r\n", ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", "|1\r\n+a\r\n:1\r\n:1\r\n", "*-1\r\n", "$-5\r\n", "*2\r\n$4\r\npong\r\n$0\r\n\r\n"} {
		f.Add(seed, uint8(3), uint8(0))
	}
	f.Fuzz(func(t *testing.T, answers string, step, how uint8) {
		commands := [][]string{{"GET x", "GET y", "GET z"}, {"SUBSCRIBE a b", "PING"}, {"CLUSTER SLOTS", "UNSUBSCRIBE a", "PING", "ROLE"}}[how%3]
		whole, wholeErr := followed(asked(t, commands, nil), answers, len(answers))
		parts, partsErr := followed(asked(t, commands, nil), answers, int(step)+1)
		if (wholeErr == nil) != (partsErr == nil) || wholeErr == nil && whole != parts {
			t.Errorf("whole: %d, %v; in pieces of %d: %d, %v", whole, wholeErr, int(step)+1, parts, partsErr)
		}
	})
}

// followed follows answers in pieces, and returns how many bytes passed.
func followed(g *guarded, answers string, step int) (int, error) {
	b := []byte(answers)
	total := 0
	for len(b) > 0 {
		n := min(step, len(b))
		used, err := g.in.follow(b[:n], false)
		if err != nil {
			return total, err
		}
		total += used
		b = b[n:]
	}
	return total, nil
}
