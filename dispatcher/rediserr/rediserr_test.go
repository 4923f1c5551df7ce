package rediserr

import (
	"errors"
	"testing"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

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
