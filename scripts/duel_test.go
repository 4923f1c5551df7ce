package scripts_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/scriptcalls"
	"github.com/wheellock/wheellock/scripts"
)

var (
	seedFlag  = flag.Uint64("scripts.seed", 1, "the calls TestDuel makes")
	callsFlag = flag.Int("scripts.calls", 0, "how many calls TestDuel makes; 0: 3000, or 300 with -short")
)

// duel makes the same calls on redis-server and on miniredis, and compares answers and what stands afterwards.
// Times stay far away, and differ by what the calls take: numbers that may be times are compared as such.
type duel struct {
	*scriptcalls.Caller
	real, mini *box
	log        []string
	answers    map[string]map[string]bool // what each script has answered
}

func newDuel(seed, test uint64, real, mini *box) *duel {
	caller := &scriptcalls.Caller{Rand: rand.New(rand.NewPCG(seed, test)), Stands: stands{real}}
	return &duel{Caller: caller, real: real, mini: mini, answers: make(map[string]map[string]bool)}
}

// TestDuel is why tests on miniredis, ours and those of users, prove something about Redis.
func TestDuel(t *testing.T) {
	n := *callsFlag
	if n == 0 {
		n = 3000
		if testing.Short() {
			n = 300
		}
	}
	d := newDuel(*seedFlag, 2, realBox(t), miniBox(t))
	for i := range n {
		command := d.command()
		ours, theirs := fieldsInOrder(command, d.real.do(command...)), fieldsInOrder(command, d.mini.do(command...))
		d.answered(command, ours)
		if command[0] == "EVAL" && strings.HasPrefix(ours, "!") {
			t.Fatalf("seed %d, call %d: %s ended with an error: %s", *seedFlag, i, shown(command), ours)
		}
		d.log = append(d.log, fmt.Sprintf("%s -> %s", shown(command), ours))
		if !alike(inFull(ours, theirs), inFull(theirs, ours)) {
			t.Fatalf("seed %d, call %d: redis-server answered %s, miniredis %s\n%s", *seedFlag, i, ours, theirs, d.last())
		}
		if i%10 != 9 && i != n-1 {
			continue
		}
		if real, mini := d.real.dump(), d.mini.dump(); !alike(real, mini) {
			t.Fatalf("seed %d, call %d: what stands differs\nredis-server:\n%s\nminiredis:\n%s\n%s", *seedFlag, i, real, mini, d.last())
		}
	}
	t.Logf("seed %d: %d calls", *seedFlag, n)
	for _, s := range all { // with other seeds, one may have been out of luck
		if n >= 3000 && *seedFlag == 1 && len(d.answers[s.Text]) < 2 {
			t.Errorf("%s answered always the same, if at all: %v", s.Name, d.answers[s.Text])
		}
	}
}

// stands is what stands in a server.
type stands struct{ *box }

func (s stands) Parts(key, kind string) []string {
	if s.do("TYPE", key) != kind {
		return nil
	}
	if kind == "zset" {
		return s.list("ZRANGE", key, "0", "-1")
	}
	return s.list("HKEYS", key)
}

func (s stands) Text(key string) (text string, is bool) {
	if s.do("TYPE", key) != "string" {
		return "", false
	}
	return s.must("GET", key), true
}

// command is the next one: a call of a script, or somebody else changes a key.
func (d *duel) command() []string {
	d.Engine = d.One(scriptcalls.Engine1, scriptcalls.Engine2)
	kind := d.One(scriptcalls.Kinds...)
	names := d.Names(kind)[:1+d.IntN(3)]
	if d.IntN(8) == 0 {
		return d.outsider(names[0])
	}
	d.Make(kind, names)
	return slices.Concat([]string{"EVAL", d.Script.Text, strconv.Itoa(len(d.Keys))}, d.Keys, d.Args)
}

// Deadlines that others give waiters: far away, and over. Round they must not be, for miniredis answers 9e+12 then,
// which its Lua takes for no number; nor near zero, for what is counted on from there must look like a time.
const longAfter, longAgo = "9000000000001", "1000000000001"

// outsider is somebody else, or a mistake. Nobody deletes the key that tells which engines live: their waiters would be
// taken for Redisson's with deadlines a millisecond apart, and that or none makes a difference of five minutes.
func (d *duel) outsider(name string) []string {
	commands := [][]string{
		{"DEL", name}, {"DEL", name}, {"DEL", name}, {"DEL", name}, {"DEL", name}, {"DEL", scripts.PermitsKey(name)}, {"SET", name, "5"}, {"SET", name, "no number"}, {"HSET", name, "java:1", "2"},
		{"PERSIST", name}, {"PEXPIRE", name, "36000000"}, {"RPUSH", name, "x"}, {"HSET", name, "mode", "read"}, {"SADD", name, "x"},
		{"DEL", scripts.FairQueue(name)}, {"SET", scripts.FairQueue(name), "x"}, {"SET", scripts.FairQueue(name), "x"}, {"RPUSH", scripts.FairQueue(name), "java:7"},
		{"ZADD", scripts.FairDeadlines(name), longAfter, "java:7"}, {"ZADD", scripts.FairDeadlines(name), longAgo, "java:7"},
		{"SET", name, "another's", "NX", "PX", "36000000"}, {"SET", name, ""},
		{"SET", scripts.TokenKey(name), "4000000000000000"}, {"DEL", scripts.PermitsKey(name)}, {"ZADD", scripts.PermitsKey(name), "1", "0123456789abcdef"},
	}
	return commands[d.IntN(len(commands))]
}

// answered notes that a script was called, and how it fared.
func (d *duel) answered(command []string, answer string) {
	if command[0] != "EVAL" {
		return
	}
	if d.answers[command[1]] == nil {
		d.answers[command[1]] = make(map[string]bool)
	}
	d.answers[command[1]][answer] = true
}

// fieldsInOrder sorts what inspect.lua tells of a hash, whose fields have no order.
func fieldsInOrder(command []string, answer string) string {
	if command[1] != scripts.Inspect.Text {
		return answer
	}
	words := strings.Fields(strings.Trim(answer, "[]"))
	var fields []string
	for i := 3; i+1 < len(words); i += 2 {
		fields = append(fields, words[i]+" "+words[i+1])
	}
	slices.Sort(fields)
	return "[" + strings.Join(append(words[:3], fields...), " ") + "]"
}

// shown is a command without the text of its script.
func shown(command []string) string {
	if command[0] != "EVAL" {
		return fmt.Sprintf("%q", command)
	}
	for _, s := range all {
		if s.Text == command[1] {
			return fmt.Sprintf("%s %q", s.Name, command[3:])
		}
	}
	return fmt.Sprintf("%q", command[2:])
}

func (d *duel) last() string { return strings.Join(d.log[max(0, len(d.log)-12):], "\n") }

// inFull is an answer for each name where the other is one, too: one integer stands for all that are alike, which
// times may be by accident.
func inFull(answer, other string) string {
	if strings.HasPrefix(answer, "[") || !strings.HasPrefix(other, "[") {
		return answer
	}
	n := len(strings.Fields(other))
	return "[" + strings.TrimSuffix(strings.Repeat(answer+" ", n), " ") + "]"
}

// numeric finds the numbers in a text.
var numeric = regexp.MustCompile(`-?\d+`)

// alike compares two texts; numbers in them may differ as times do that were taken within ten minutes.
func alike(a, b string) bool {
	if a == b {
		return true
	}
	as, bs := numeric.FindAllString(a, -1), numeric.FindAllString(b, -1)
	if numeric.ReplaceAllString(a, "#") != numeric.ReplaceAllString(b, "#") || len(as) != len(bs) {
		return false
	}
	for i := range as {
		x, errX := strconv.ParseInt(as[i], 10, 64)
		y, errY := strconv.ParseInt(bs[i], 10, 64)
		if as[i] != bs[i] && (errX != nil || errY != nil || !sameTime(x, y)) {
			return false
		}
	}
	return true
}

// sameTime compares a TTL, a time in ms, or a fencing token, which is one in µs. A fault is exactly that fault.
func sameTime(x, y int64) bool {
	const minutes = 10 * 60_000
	if scripts.Reply(x).Fault() != scripts.None || scripts.Reply(y).Fault() != scripts.None {
		return false
	}
	x, y = max(x, -x), max(y, -y)
	far, apart := min(x, y), max(x, y)-min(x, y)
	return far > minutes/20 && apart < min(minutes, far/4) || far > 1e15 && apart < 1000*minutes
}

// readers are how the values of each type are read.
var readers = map[string]func(key string) []string{
	"string": func(key string) []string { return []string{"GET", key} },
	"hash":   func(key string) []string { return []string{"HGETALL", key} },
	"list":   func(key string) []string { return []string{"LRANGE", key, "0", "-1"} },
	"set":    func(key string) []string { return []string{"SMEMBERS", key} },
	"zset":   func(key string) []string { return []string{"ZRANGE", key, "0", "-1", "WITHSCORES"} },
}

// dump is everything that stands in Redis.
func (b *box) dump() string {
	b.Helper()
	keys := b.list("KEYS", "*")
	slices.Sort(keys)
	var questions [][]string
	for _, key := range keys {
		// What lasts for a minute at most stands still on miniredis: after twelve seconds a quarter of it would be gone here alone.
		if strings.Contains(key, ":wheellock:receipt:") || strings.HasSuffix(key, ":wheellock:claims") || strings.HasSuffix(key, ":wheellock:line") {
			questions = append(questions, []string{"PEXPIRE", key, "3600000"})
		} else {
			questions = append(questions, []string{"PTTL", key})
		}
		questions = append(questions, []string{"TYPE", key})
	}
	answers := b.pipe(questions)
	questions = questions[:0]
	for i, key := range keys {
		questions = append(questions, readers[text(answers[2*i+1])](key))
	}
	var lines strings.Builder
	for i, value := range b.pipe(questions) {
		kind := text(answers[2*i+1])
		fmt.Fprintf(&lines, "%s %s for %s: %s\n", kind, keys[i], text(answers[2*i]), sorted(kind, value))
	}
	return lines.String()
}

// pipe runs commands in one round trip.
func (b *box) pipe(commands [][]string) []rueidis.RedisMessage {
	b.Helper()
	built := make(rueidis.Commands, len(commands))
	for i, command := range commands {
		built[i] = b.client.B().Arbitrary(command...).Build()
	}
	answers := make([]rueidis.RedisMessage, len(commands))
	for i, result := range b.client.DoMulti(context.Background(), built...) {
		var err error
		if answers[i], err = result.ToMessage(); err != nil {
			b.Fatalf("%q: %v", commands[i], err)
		}
	}
	return answers
}

// sorted is a value, the members of a sorted set in the order of their names: times that differ by a millisecond
// here may be equal there.
func sorted(kind string, m rueidis.RedisMessage) string {
	if kind != "zset" {
		return text(m)
	}
	var flat []rueidis.RedisMessage // miniredis answers members and scores in turn
	items, _ := m.ToArray()
	for _, item := range items {
		if pair, err := item.ToArray(); err == nil {
			flat = append(flat, pair...)
		} else {
			flat = append(flat, item)
		}
	}
	var members []string
	for i := 0; i+1 < len(flat); i += 2 {
		score, _ := flat[i+1].AsFloat64()
		members = append(members, fmt.Sprintf("%q=%.0f", text(flat[i]), score))
	}
	slices.Sort(members)
	return strings.Join(members, " ")
}
