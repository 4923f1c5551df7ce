package rediserr

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

func TestASilentServerIsNoDeadlineOfTheCaller(t *testing.T) {
	for _, err := range []error{context.DeadlineExceeded, fmt.Errorf("ask: %w", os.ErrDeadlineExceeded),
		&net.OpError{Op: "raw-read", Net: "tcp", Err: os.ErrDeadlineExceeded}, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}} {
		said := Silent(err, "a:1", 1498*time.Millisecond)
		if said.Error() != "a:1: no answer within 1.5s" || errors.Is(said, context.DeadlineExceeded) || !IsSilent(said) {
			t.Errorf("%v: %v", err, said)
		}
		if got, want := Judge(said).Result, Judge(err).Result; got != want {
			t.Errorf("%v: judged %v, want %v", err, got, want)
		}
	}
	if err := errors.New("reset"); Silent(err, "a:1", 0) != err || Silent(nil, "", 0) != nil {
		t.Error("another error was changed")
	}
	lookup := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "i/o timeout", Name: "redis-1", Server: "10.0.0.53:53", IsTimeout: true}}
	if said := Silent(lookup, "redis-1:6379", time.Second); said != lookup {
		t.Errorf("of a name server that does not answer is said: %v", said)
	}
}

// What the server says out of a script is judged as what a script answers, and told in the server's own message.
func TestMessagesOutOfAScriptAreJudgedAsAnyOther(t *testing.T) {
	server := redistest.Start(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true, DisableRetry: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server.MustDo("SET", "text", "x")
	for _, c := range []struct {
		name      string
		set, mend []string
		script    string
		want      Verdict
	}{
		{"a master without replicas", []string{"min-replicas-to-write", "1"}, []string{"min-replicas-to-write", "0"},
			"return redis.call('SET', KEYS[1], '1')",
			Verdict{Result: gate.Again, Message: "NOREPLICAS Not enough good replicas to write.", Split: true}},
		{"a server without memory", []string{"maxmemory", "1"}, []string{"maxmemory", "0"},
			"return redis.call('SET', KEYS[1], '1')",
			Verdict{Result: gate.Again, Message: "OOM command not allowed when used memory > 'maxmemory'.", Split: true}},
		{"a key of another type", []string{"maxmemory", "0"}, []string{"maxmemory", "0"},
			"return redis.call('LPOP', KEYS[1])",
			Verdict{Result: gate.Denied, Message: "WRONGTYPE Operation against a key holding the wrong kind of value", Fault: scripts.AnotherType}},
		{"a server before 7.0", []string{"maxmemory", "0"}, []string{"maxmemory", "0"},
			"return redis.error_reply('ERR Error running script (call to f_1fe1c6e4b8b2a6cfe2e6a2b8a6f6a5a3e8f1c2d4): @user_script:12: @user_script: 12: -OOM no.')",
			Verdict{Result: gate.Again, Message: "OOM no.", Split: true}},
		{"a server that is full", []string{"maxmemory", "0"}, []string{"maxmemory", "0"},
			"return redis.error_reply('ERR max number of clients reached')",
			Verdict{Result: gate.Again, Message: "max number of clients reached"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server.MustDo("CONFIG", "SET", c.set[0], c.set[1])
			err := client.Do(t.Context(), client.B().Eval().Script(c.script).Numkeys(1).Key("text").Build()).Error()
			server.MustDo("CONFIG", "SET", c.mend[0], c.mend[1])
			if got := Judge(err); got != c.want {
				t.Errorf("%v is judged %+v, want %+v", err, got, c.want)
			}
		})
	}
}

// Each message, as a server says it, is judged by a row of the table in ARCHITECTURE.md. A script says it here.
func TestJudgesMessages(t *testing.T) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redistest.Start(t).Addr()}, DisableCache: true, DisableRetry: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const again, denied, doubtful = gate.Again, gate.Denied, gate.Unknown
	for _, c := range []struct {
		message                  string
		want                     Verdict // without its Message
		gone, mayNotRun, unknown bool    // the server serves nobody; this user may not run the command; there is no such command
	}{
		{message: "NOSCRIPT No matching script.", want: Verdict{Result: again, Missing: true}},
		{message: "LOADING Redis is loading", want: Verdict{Result: again}, gone: true},
		{message: "MASTERDOWN Link with MASTER is down", want: Verdict{Result: again}, gone: true},
		{message: "CLUSTERDOWN The cluster is down", want: Verdict{Result: again}, gone: true},
		{message: "max number of clients reached", want: Verdict{Result: again}, gone: true},
		{message: "BUSY Redis is busy", want: Verdict{Result: again}},
		{message: "READONLY You can't write", want: Verdict{Result: again}},
		{message: "UNKILLABLE Sorry", want: Verdict{Result: again}},
		{message: "NOTBUSY No scripts", want: Verdict{Result: again}},
		{message: "TRYAGAIN Multiple keys request", want: Verdict{Result: again, Split: true, Apart: true}},
		{message: "NOREPLICAS Not enough", want: Verdict{Result: again, Split: true}},
		{message: "MISCONF Errors writing", want: Verdict{Result: again, Split: true}},
		{message: "OOM command not allowed", want: Verdict{Result: again, Split: true}},
		{message: "Error running script: Script killed by user with SCRIPT KILL", want: Verdict{Result: again}},
		{message: "Script attempted to access a non local key in a cluster node", want: Verdict{Result: doubtful}},
		{message: "WRONGTYPE Operation against a key", want: Verdict{Result: denied, Fault: scripts.AnotherType}},
		{message: "CROSSSLOT Keys in request", want: Verdict{Result: denied, Apart: true}},
		{message: "NOPERM No permissions to access a key", want: Verdict{Result: denied, Apart: true}},
		{message: "NOPERM this user has no permissions to run the 'eval' command", want: Verdict{Result: denied}, mayNotRun: true},
		{message: "NOAUTH Authentication required.", want: Verdict{Result: denied}},
		{message: "WRONGPASS invalid username", want: Verdict{Result: denied}},
		{message: "unknown command 'EVALSHA'", want: Verdict{Result: denied}, unknown: true},
		{message: "unknown subcommand 'NUMSUB'", want: Verdict{Result: denied}, unknown: true},
		{message: "no permissions to run that, says a proxy", want: Verdict{Result: denied}},
		{message: "it is not LOADING, and no unknown command", want: Verdict{Result: denied}},
		{message: "S", want: Verdict{Result: denied}},
	} {
		said := client.Do(t.Context(), client.B().Eval().Script("return redis.error_reply(ARGV[1])").Numkeys(0).Arg(c.message).Build()).Error()
		err := fmt.Errorf("wrapped: %w", said)
		c.want.Message = c.message
		if got := Judge(err); got != c.want {
			t.Errorf("%q is judged %+v, want %+v", c.message, got, c.want)
		}
		doubts := ""
		if c.want.Result == gate.Denied && !c.want.Apart {
			doubts = c.message
		}
		if got := c.want.Doubts(); got != doubts {
			t.Errorf("%q: doubts %q, want %q", c.message, got, doubts)
		}
		for _, question := range []struct {
			name      string
			got, want bool
		}{
			{"Alive", Alive(err), !c.gone}, {"MayNotRun", MayNotRun(err), c.mayNotRun}, {"IsAbsent", IsAbsent(err), c.unknown},
			{"Lacking", Lacking(err), c.mayNotRun || c.unknown},
		} {
			if question.got != question.want {
				t.Errorf("%q: %s is %v", c.message, question.name, question.got)
			}
		}
		why := gate.Refused
		if c.want.Result == doubtful {
			why = gate.Doubtful
		}
		if got := Explain(err); got != why {
			t.Errorf("%q is explained as %v, want %v", c.message, got, why)
		}
	}
}

// What no server said is an error of the connection.
func TestJudgesBrokenConnections(t *testing.T) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redistest.Start(t).Addr()}, DisableCache: true, DisableRetry: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	null := client.Do(t.Context(), client.B().Get().Key("none").Build()).Error()
	_, refused := net.Dial("tcp", "127.0.0.1:1")
	broken := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	for _, c := range []struct {
		err  error
		want Verdict
		why  gate.Why
	}{
		{fmt.Errorf("it is %w", refused), Verdict{Result: gate.NotSent, Link: true}, gate.Down},
		{fmt.Errorf("it is %w", broken), Verdict{Result: gate.Unknown, Link: true}, gate.Doubtful},
		{fmt.Errorf("it is %w", rueidis.ErrNoSlot), Verdict{Result: gate.Again}, gate.Refused},
		{errors.New("permissions to run"), Verdict{Result: gate.Unknown, Link: true}, gate.Doubtful},
		{null, Verdict{Result: gate.Unknown, Link: true}, gate.Doubtful},
	} {
		c.want.Message = c.err.Error()
		if got := Judge(c.err); got != c.want {
			t.Errorf("%v is judged %+v, want %+v", c.err, got, c.want)
		}
		if got := Explain(c.err); got != c.why {
			t.Errorf("%v is explained as %v, want %v", c.err, got, c.why)
		}
		if Alive(c.err) || Lacking(c.err) {
			t.Errorf("%v: alive %v, lacking %v", c.err, Alive(c.err), Lacking(c.err))
		}
	}
	if !Alive(nil) {
		t.Error("a server without an error is not alive")
	}
}

func TestPlainMessage(t *testing.T) {
	for message, want := range map[string]string{
		"ERR unknown command 'AUTH', with args beginning with: 'locks' 'secret' ":                                                                       "unknown command 'AUTH'",
		"NOREPLICAS Not enough good replicas to write.":                                                                                                 "NOREPLICAS Not enough good replicas to write.",
		"NOREPLICAS Not enough good replicas to write. script: 1fe1c6e4b8b2a6cfe2e6a2b8a6f6a5a3e8f1c2d4, on @user_script:12.":                           "NOREPLICAS Not enough good replicas to write.",
		"ERR Error running script (call to f_1fe1c6e4b8b2a6cfe2e6a2b8a6f6a5a3e8f1c2d4): @user_script:12: @user_script: 12: -OOM command not allowed.":   "OOM command not allowed.",
		"ERR Error running script (call to f_1fe1c6e4b8b2a6cfe2e6a2b8a6f6a5a3e8f1c2d4): @user_script:12: WRONGTYPE Operation against a key holding it.": "WRONGTYPE Operation against a key holding it.",
		"NOSCRIPT No matching script. Please use EVAL.":                                                                                                 "NOSCRIPT No matching script. Please use EVAL.",
	} {
		if got := plain(message); got != want {
			t.Errorf("plain(%q) = %q, want %q", message, got, want)
		}
	}
}

// A text that goes into an error of the engine is one line.
func TestText(t *testing.T) {
	err := errors.Join(errors.New("sentinel-1: refused"), errors.New("sentinel-2: refused"))
	if got, want := Text(err), "sentinel-1: refused: sentinel-2: refused"; got != want {
		t.Errorf("Text = %q, want %q", got, want)
	}
}
