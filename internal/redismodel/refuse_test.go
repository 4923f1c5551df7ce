package redismodel

import (
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

const (
	readOnly = "READONLY You can't write against a read only replica."
	oom      = "OOM command not allowed when used memory > 'maxmemory'."
	twoSets  = `return {redis.pcall('SET', 'a', '1').err or 'set', redis.pcall('SET', 'b', '1').err or 'set'}`
)

// What a server does that refuses writes from some moment on is compared with redis-server by the duels; here is what only the model
// can do: to begin in the midst of a script.
func TestRefuseBeginsAtAnyWrite(t *testing.T) {
	s := New(NewInterpreter())
	for after, want := range []string{
		`["` + readOnly + `" "` + readOnly + `"]`, `["set" "` + readOnly + `"]`, `["set" "set"]`,
	} {
		s.Refuse(readOnly, after)
		if got := s.Eval(twoSets, nil, nil).String(); got != want {
			t.Errorf("after %d writes: %s, want %s", after, got, want)
		}
	}
	if got := s.Do("SET", "c", "1"); got.Str != readOnly {
		t.Errorf("the write behind them: %v", got)
	}
	if got := s.Do("GET", "a"); got.Str != "1" {
		t.Errorf("a read: %v", got)
	}
	s.Refuse("", 0)
	if got := s.Do("SET", "c", "1"); got.Kind != Status {
		t.Errorf("when it is over: %v", got)
	}
}

// A script that deletes a key of an open slot does not find its slot here any more. Clients are told where it is, which the model has no words for.
func TestAScriptIsRefusedKeysThatAreNotHere(t *testing.T) {
	s := New(NewInterpreter())
	s.Do("SET", "a", "1")
	s.Open(false, "a", "b")
	const script = `local said = {}
		for i, key in ipairs({ 'a', 'a', 'b', 'c' }) do said[i] = redis.pcall('DEL', key) end
		return { said[1], said[2].err, said[3].err, said[4] }`
	if got, want := s.Eval(script, nil, nil).String(), `[1 "`+nonLocal+`" "`+nonLocal+`" 0]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s.Open(true, "c")
	if got := s.Eval(`return redis.pcall('SET', 'c', '1').err`, nil, nil); got.Str != nonLocal {
		t.Errorf("shut: %v", got)
	}
	s.Open(false)
	if got := s.Eval(`return redis.call('DEL', 'b')`, nil, nil); got.Int != 0 || got.Kind != Int {
		t.Errorf("when it is over: %v", got)
	}
}

func TestMemoryIsRefusedAtTheFirstWriteOfAScript(t *testing.T) {
	s := New(NewInterpreter())
	s.Refuse(oom, 1)
	if got, want := s.Eval(twoSets, nil, nil).String(), `["set" "set"]`; got != want {
		t.Errorf("a script that has begun: %s, want %s", got, want)
	}
	if got, want := s.Eval(twoSets, nil, nil).String(), `["`+oom+`" "`+oom+`"]`; got != want {
		t.Errorf("the next: %s, want %s", got, want)
	}
	if got := s.Do("DEL", "a"); got.Int != 1 {
		t.Errorf("a write that needs no memory: %v", got)
	}
}

// Every script says at which write it was refused by what it answers: a fault, or what it had done till then.
func TestWritesCountsWhatWasNotRefused(t *testing.T) {
	s := New(NewInterpreter())
	s.Micros = 1_700_000_000_000_000
	acquire := func() Value {
		return s.Eval(scripts.Acquire.Text, []string{"stock:7"}, []string{"0", "me:1", "30000"})
	}
	if answer := acquire(); answer.Int != 1 || s.Writes != 2 {
		t.Fatalf("%v, %d writes, want 1, 2: HSET and PEXPIRE", answer, s.Writes)
	}
	s.Do("DEL", "stock:7")
	s.Refuse(readOnly, 1)
	if answer := acquire(); answer.Int != int64(scripts.ReadOnly.Reply()) || s.Writes != 4 {
		t.Fatalf("%v, %d writes", answer, s.Writes)
	}
	if got := s.Do("PTTL", "stock:7"); got.Int != -1 {
		t.Errorf("PTTL %v: the lock was taken, and neither bound nor taken back", got)
	}
}

func TestForbidTakesARightAway(t *testing.T) {
	s := New(NewInterpreter())
	s.Forbid("NOPERM this user has no permissions to run the 'pttl' command", "PTTL", "get")
	for _, name := range []string{"PTTL", "GET"} {
		if got := s.Do(name, "a"); got.Kind != Err {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := s.Do("SET", "a", "1"); got.Kind != Status {
		t.Errorf("SET: %v", got)
	}
	s.Forbid("")
	if got := s.Do("GET", "a"); got.Str != "1" {
		t.Errorf("GET: %v", got)
	}
}
