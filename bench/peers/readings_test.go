package main

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

func TestCommandsThatAContestantSends(t *testing.T) {
	calls := map[string]int64{"evalsha": 20, "eval": 1, "set": 7, "hset": 40}
	if n := sent(resp.Counters{Commands: calls}, []string{"set"}); n != 28 {
		t.Errorf("sent %d, want 28", n)
	}
}

func TestRedisBenchmarkIsRead(t *testing.T) {
	perSecond, err := readBenchmark("\"test\",\"rps\",\"avg_latency_ms\"\n\"EVALSHA a, b\",\"123456.79\",\"0.1\"\n")
	if err != nil || perSecond != 123456.79 {
		t.Errorf("%g, %v", perSecond, err)
	}
	for _, text := range []string{"", "\"test\"\n\"x\"\n", "ERR\n"} {
		if _, err := readBenchmark(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestRedissonIsRead(t *testing.T) {
	one, times, err := readRedisson("pairs=1200 seconds=3.000 pairsPerSecond=400.0 p50Micros=15 p99Micros=99 maxMicros=1000" +
		" cpuSeconds=1.500 allocatedBytes=4800 errors=2")
	if err != nil {
		t.Fatal(err)
	}
	if one.Pairs != 1200 || one.Seconds != 3 || one.Usage.CPU != 1500*time.Millisecond || one.Usage.Bytes != 4800 || one.Failed != 2 {
		t.Errorf("got %+v", one)
	}
	if want := (Waits{P50: 15, P99: 99, Max: 1000}); times != want {
		t.Errorf("times %+v, want %+v", times, want)
	}
	for _, text := range []string{"", "pairs=many", "pairs=3"} {
		if _, _, err := readRedisson(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
