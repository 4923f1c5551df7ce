package redismodel

import (
	"slices"
	"strconv"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"

	"github.com/wheellock/wheellock/scripts"
)

const benchMicros = 1_700_000_000_000_000

// benchWorld is a server on which most kinds of locks are held.
func benchWorld(tb testing.TB) *Server {
	tb.Helper()
	s := New(NewInterpreter())
	s.Micros = benchMicros
	for _, c := range benchCalls {
		if answer := s.Eval(c.script.Text, c.keys, c.args); answer.Kind == Err {
			tb.Fatal(c.script.Name, answer)
		}
	}
	return s
}

// benchCalls are usual ones. Each is run where nothing stands, and in the order in which they stand here.
var benchCalls = []call{
	{script: scripts.Acquire, keys: []string{"stock:7"}, args: []string{"0", engine1 + ":1", "30000"}},
	{script: scripts.Renew, keys: []string{"stock:7"}, args: []string{engine1 + ":1", "30000"}},
	{script: scripts.AcquireFenced, keys: []string{"stock:8", scripts.TokenKey("stock:8")}, args: []string{"0", "64", "0", engine1 + ":1", "30000"}},
	{
		script: scripts.AcquireRead, keys: []string{"rw:1", scripts.LineKey("rw:1"), scripts.HoldKey("rw:1", engine1+":1")},
		args: []string{"0", "PUBLISH", engine1 + ":1", "30000", "", "0"},
	},
	{
		script: scripts.FairAsk, keys: []string{"fair:1", scripts.FairQueue("fair:1"), scripts.FairDeadlines("fair:1"), scripts.FairAlive("fair:1"), scripts.ClaimsKey("fair:1")},
		args: []string{"9000000000000", engine1, "60000", "PUBLISH", "1", "NEW", "30000", "2", "1", scripts.LockChannel("fair:1"), "0"},
	},
	{
		script: scripts.SetPermits, keys: []string{"sem:1", scripts.ReceiptKey("sem:1", engine1)},
		args: []string{"PUBLISH", "0", "1", "3", scripts.SemaphoreChannel("sem:1")},
	},
	{script: scripts.Take, keys: []string{"sem:1", scripts.ReceiptKey("sem:1", engine1)}, args: []string{"0", "2", "0", "1x1"}},
	{
		script: scripts.PermitTake, keys: []string{"sem:1", scripts.PermitsKey("sem:1"), scripts.ReceiptKey("sem:1", engine1)},
		args: []string{"PUBLISH", "0", scripts.PermitBytes(engine1), "3", "0", "1", "30000", scripts.SemaphoreChannel("sem:1")},
	},
	{
		script: scripts.AcquireInLine, keys: []string{"stock:7", scripts.LineKey("stock:7"), "stock:7"},
		args: []string{"0", "64", "0", "PUBLISH", engine2 + ":1", "30000", "7900000000000000178"},
	},
	{script: scripts.Release, keys: []string{"stock:7", scripts.LineKey("stock:7")}, args: []string{"PUBLISH", engine1 + ":1", scripts.LockChannel("stock:7")}},
}

func BenchmarkEval(b *testing.B) {
	for _, c := range benchCalls {
		b.Run(c.script.Name, func(b *testing.B) {
			s := New(NewInterpreter())
			s.Micros = benchMicros
			nothing := s.Snapshot()
			b.ReportAllocs()
			for b.Loop() {
				s.Restore(nothing)
				s.Eval(c.script.Text, c.keys, c.args)
			}
		})
	}
}

// BenchmarkPair is an acquire and its release, on both Redises in memory: the model is called, miniredis reached by a connection in memory.
func BenchmarkPair(b *testing.B) {
	pair := []call{benchCalls[0], benchCalls[len(benchCalls)-1]}
	b.Run("redismodel", func(b *testing.B) {
		s := New(NewInterpreter())
		s.Micros = benchMicros
		b.ReportAllocs()
		for b.Loop() {
			for _, c := range pair {
				if answer := s.Eval(c.script.Text, c.keys, c.args); answer.Kind != Int {
					b.Fatal(c.script.Name, answer)
				}
			}
		}
	})
	b.Run("miniredis", func(b *testing.B) {
		s := miniredis.NewMiniRedis()
		defer s.Close()
		conn, err := s.Dial()
		if err != nil {
			b.Fatal(err)
		}
		client := proto.NewClient(conn)
		defer client.Close()
		var words [][]string
		for _, c := range pair {
			digest, err := client.Do("SCRIPT", "LOAD", c.script.Text)
			if err != nil {
				b.Fatal(err)
			}
			sha, err := proto.ReadString(digest)
			if err != nil {
				b.Fatal(err)
			}
			words = append(words, slices.Concat([]string{"EVALSHA", sha, strconv.Itoa(len(c.keys))}, c.keys, c.args))
		}
		b.ReportAllocs()
		for b.Loop() {
			for _, w := range words {
				if answer, err := client.Do(w...); err != nil || answer[0] != ':' {
					b.Fatal(answer, err)
				}
			}
		}
	})
}

func BenchmarkSnapshotAndBack(b *testing.B) {
	s := benchWorld(b)
	b.ReportAllocs()
	for b.Loop() {
		s.Restore(s.Snapshot())
	}
}

func BenchmarkAppendState(b *testing.B) {
	s, state := benchWorld(b), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		state = s.AppendState(state[:0])
	}
	b.ReportMetric(float64(len(state)), "B/state")
}
