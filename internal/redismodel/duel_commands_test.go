package redismodel

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var commandsFlag = flag.Int("commands", 1500, "how many sequences of some twenty commands TestDuelOfCommands sends")

// step is a part of a sequence: time passes, then a command is run.
type step struct {
	passes  int64 // µs
	command []string
}

func (s step) String() string {
	shown := fmt.Sprintf("%q", s.command)
	if len(s.command) > 2 && s.command[0] == "EVAL" {
		name := map[string]string{describing: "describing", raising: "raising", returning: "returning", counting: "counting"}[s.command[1]]
		shown = name + fmt.Sprintf(" %q", s.command[3:])
	}
	if s.passes != 0 {
		return fmt.Sprintf("+%v %s", time.Duration(s.passes)*time.Microsecond, shown)
	}
	return shown
}

// TestDuelOfCommands sends the same random commands to the model and to a redis-server whose clock stands where the model's does,
// and compares each answer and all that stands afterwards. Nothing is left out but the order of a set's members, and of the fields
// of a hash with long values.
func TestDuelOfCommands(t *testing.T) {
	const begin = 1_700_000_000_000_000
	r := startRival(t, begin)
	s := New(NewInterpreter())
	s.Micros = begin
	r.learnRefusals()
	started, sent := time.Now(), 0
	seen := make(map[string]int)
	for n := range *commandsFlag {
		s.Micros = begin + int64(n)*100_000_000 // each can be repeated by itself: none lasts so long
		r.turn(s.Micros)
		g := &generator{Rand: rand.New(rand.NewPCG(*seedFlag, uint64(n))), now: s.Micros}
		steps := g.sequence()
		answers := make([]Value, 0, len(steps))
		for _, step := range steps {
			s.Micros += step.passes
			answers = append(answers, r.asModel(s, step.command))
		}
		theirs := r.play(steps, s.Micros)
		for i, step := range steps {
			ours, theirs := comparable(step.command, answers[i]), comparable(step.command, theirs[i])
			if ours != theirs {
				t.Fatalf("%s, seed %d, sequence %d: %v answered\n%s by the model,\n%s by the server\n%s", r.name, *seedFlag, n, step, ours, theirs, shown(steps[:i], answers))
			}
			seen[strings.ToUpper(step.command[0])+" "+string(ours[0])]++
		}
		sent += len(steps)
		s.Refuse("", 0)
		s.Forbid("")
	}
	t.Logf("%s, seed %d: %d sequences, %d commands, in %v", r.name, *seedFlag, *commandsFlag, sent, time.Since(started).Round(time.Millisecond))
}

// play runs a sequence on the server, which ends at a time.
func (r *rival) play(steps []step, end int64) (answers []Value) {
	r.Helper()
	for _, step := range steps {
		end -= step.passes
	}
	var batch [][]string
	for _, step := range steps {
		if step.passes != 0 {
			answers = append(answers, r.wire.pipe(batch...)...)
			batch = batch[:0]
			end += step.passes
			r.turn(end)
		}
		batch = append(batch, step.command)
	}
	return append(answers, r.wire.pipe(batch...)...)
}

// comparable is an answer as text; of an error that is its class, by which scripts tell errors. Members of a set have no order, nor have the fields of a hash that is no list to Redis.
func comparable(command []string, v Value) string {
	together := 0 // how many values belong together; 0: all have an order
	switch strings.ToUpper(command[0]) {
	case "SMEMBERS":
		together = 1
	case "HGETALL":
		if slices.ContainsFunc(v.Array, func(v Value) bool { return len(v.Str) > longestListed }) {
			together = 2
		}
	}
	if v.Kind == Array && together > 0 {
		parts := slices.SortedFunc(slices.Chunk(v.Array, together), func(a, b []Value) int { return strings.Compare(a[0].Str, b[0].Str) })
		v.Array = slices.Concat(parts...)
	}
	if v.Kind == Err {
		class, _, _ := strings.Cut(v.Str, " ")
		return "!" + class
	}
	return v.String()
}

// longestListed is how long a value of a hash may be, in bytes, that Redis keeps as a list (hash-max-listpack-value).
const longestListed = 64

func shown(steps []step, answers []Value) string {
	var b strings.Builder
	for i, step := range steps {
		fmt.Fprintf(&b, "%v -> %v\n", step, answers[i])
	}
	return b.String()
}
