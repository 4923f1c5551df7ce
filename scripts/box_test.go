package scripts_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// box is a server that runs the scripts: a redis-server, or miniredis, which runs them in memory.
type box struct {
	testing.TB
	client rueidis.Client
	redis  *redistest.Server // nil: miniredis
}

// dial connects to a server as some user.
func dial(tb testing.TB, addr, user, password string) rueidis.Client {
	tb.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, Username: user, Password: password,
		DisableCache: true, ForceSingleClient: true, DisableRetry: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return client
}

func realBox(tb testing.TB, args ...string) *box {
	redis := redistest.Start(tb, args...)
	return &box{tb, dial(tb, redis.Addr(), "", ""), redis}
}

func miniBox(tb testing.TB) *box {
	mini := miniredis.NewMiniRedis()
	if err := mini.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(mini.Close)
	return &box{tb, dial(tb, mini.Addr(), "", ""), nil}
}

// onBoth runs a test on redis-server and on miniredis.
func onBoth(t *testing.T, test func(t *testing.T, b *box)) {
	t.Run("redis-server", func(t *testing.T) { test(t, realBox(t)) })
	t.Run("miniredis", func(t *testing.T) { test(t, miniBox(t)) })
}

// do runs a command and gives its answer as text: integers as they are, lists in brackets, errors after an
// exclamation mark.
func (b *box) do(args ...string) string {
	b.Helper()
	return b.as(b.client, args...)
}

func (b *box) as(client rueidis.Client, args ...string) string {
	b.Helper()
	answer := client.Do(context.Background(), client.B().Arbitrary(args...).Build())
	message, err := answer.ToMessage()
	if redisErr, said := rueidis.IsRedisErr(err); said && !redisErr.IsNil() {
		return "!" + redisErr.Error()
	} else if err != nil && !said && !rueidis.IsRedisNil(err) {
		b.Fatalf("%q: %v", args, err)
	}
	return text(message)
}

// list is do for a command that answers a list of texts, which may be any bytes.
func (b *box) list(args ...string) []string {
	b.Helper()
	texts, err := b.client.Do(context.Background(), b.client.B().Arbitrary(args...).Build()).AsStrSlice()
	if err != nil {
		b.Fatalf("%q: %v", args, err)
	}
	return texts
}

func text(m rueidis.RedisMessage) string {
	switch {
	case m.IsNil():
		return "nil"
	case m.IsMap(): // HGETALL in RESP3
		fields, _ := m.ToMap()
		var texts []string
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			texts = append(texts, name, text(fields[name]))
		}
		return "[" + strings.Join(texts, " ") + "]"
	case m.IsArray():
		items, _ := m.ToArray()
		texts := make([]string, len(items))
		for i := range items {
			texts[i] = text(items[i])
		}
		return "[" + strings.Join(texts, " ") + "]"
	case m.IsFloat64():
		f, _ := m.AsFloat64()
		return strconv.FormatFloat(f, 'f', 0, 64)
	case m.IsInt64():
		n, _ := m.AsInt64()
		return strconv.FormatInt(n, 10)
	default:
		s, _ := m.ToString()
		return s
	}
}

// must is do for a command that has to succeed.
func (b *box) must(args ...string) string {
	b.Helper()
	answer := b.do(args...)
	if strings.HasPrefix(answer, "!") {
		b.Fatalf("%q: %s", args, answer)
	}
	return answer
}

// eval runs a script. args may be strings, integers and durations, which are sent in milliseconds.
func (b *box) eval(s scripts.Script, keys []string, args ...any) string {
	b.Helper()
	return b.evalAs(b.client, s, keys, args...)
}

func (b *box) evalAs(client rueidis.Client, s scripts.Script, keys []string, args ...any) string {
	b.Helper()
	return b.as(client, evaluation(s, keys, args)...)
}

// evaluation is the command that runs a script.
func evaluation(s scripts.Script, keys []string, args []any) []string {
	command := append([]string{"EVAL", s.Text, strconv.Itoa(len(keys))}, keys...)
	for _, arg := range args {
		if d, is := arg.(time.Duration); is {
			arg = d.Milliseconds()
		}
		command = append(command, fmt.Sprint(arg))
	}
	return command
}

// want compares an answer.
func (b *box) want(got, want string, what ...any) {
	b.Helper()
	if got != want {
		b.Errorf("%s answered %s, want %s", fmt.Sprint(what...), got, want)
	}
}

// stands compares what is under a lock's name: its fields, sorted, as "owner=1"; nothing when it is free.
func (b *box) stands(name string, want ...string) {
	b.Helper()
	fields := strings.Fields(strings.Trim(b.must("HGETALL", name), "[]"))
	var got []string
	for i := 0; i+1 < len(fields); i += 2 {
		got = append(got, fields[i]+"="+fields[i+1])
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		b.Errorf("%s holds %v, want %v", name, got, want)
	}
}

// lasts compares a key's TTL with what it was set to less than a minute ago.
func (b *box) lasts(name string, want time.Duration) {
	b.Helper()
	millis, _ := strconv.ParseInt(b.must("PTTL", name), 10, 64)
	if ttl := time.Duration(millis) * time.Millisecond; ttl > want || ttl < want-time.Minute {
		b.Errorf("%s lasts for %v, want %v or a little less", name, ttl, want)
	}
}

// listen subscribes to a channel and gives what is heard there.
func (b *box) listen(channel string) <-chan string {
	b.Helper()
	heard := make(chan string, 128)
	b.subscribe(channel, func(message string) { heard <- message })
	return heard
}

// subscribe subscribes to a channel, and calls hear with each message.
func (b *box) subscribe(channel string, hear func(message string)) {
	b.Helper()
	before := b.must("PUBSUB", "NUMSUB", channel)
	conn, release := b.client.Dedicate()
	b.Cleanup(func() {
		conn.Close()
		release()
		redistest.Await(b, "the server to notice", func() bool { return b.must("PUBSUB", "NUMSUB", channel) == before })
	})
	conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) { hear(m.Message) }})
	if err := conn.Do(context.Background(), conn.B().Subscribe().Channel(channel).Build()).Error(); err != nil {
		b.Fatal(err)
	}
}

// said is what was heard on a channel until now. Whoever else listens there hears "the end".
func (b *box) said(channel string, heard <-chan string) string {
	b.Helper()
	b.must("PUBLISH", channel, "the end")
	var all []string
	for message := range heard {
		if message == "the end" {
			break
		}
		all = append(all, message)
	}
	return strings.Join(all, " ")
}

const (
	hour    = time.Hour
	twoHour = 2 * time.Hour
)

// fault is a fault's reply as text.
func fault(f scripts.Fault) string { return strconv.FormatInt(-(1<<51)-int64(f), 10) }

// names of the tests, and the channel of the first.
var (
	one, two, three = "stock:7", "{stock}:8", "stock:9"
	channel         = scripts.LockChannel(one)
)
