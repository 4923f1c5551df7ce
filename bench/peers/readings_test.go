package main

import (
	"maps"
	"testing"
)

func TestCounters(t *testing.T) {
	before, after := counters{calls: map[string]int64{}}, counters{calls: map[string]int64{}}
	before.add("# CPU\r\nused_cpu_sys:1.5\r\nused_cpu_user:2.0\r\nused_cpu_sys_children:9\r\n")
	before.add("cmdstat_evalsha:calls=10,usec=5,usec_per_call=0.5\r\ncmdstat_get:calls=3,usec=1\r\n")
	after.add("used_cpu_sys:2.5\r\nused_cpu_user:2.25\r\n# Stats\r\ntotal_net_input_bytes:100\r\ntotal_net_output_bytes:50\r\n")
	after.add("cmdstat_evalsha:calls=30,usec=9\r\ncmdstat_get:calls=3,usec=1\r\ncmdstat_set:calls=7,usec=1\r\n")
	did := after.since(before)
	if did.cpuSeconds != 1.25 || did.netIn != 100 || did.netOut != 50 {
		t.Errorf("got %+v", did)
	}
	if want := map[string]int64{"evalsha": 20, "set": 7}; !maps.Equal(did.calls, want) {
		t.Errorf("calls %v, want %v", did.calls, want)
	}
	if sent := did.sent([]string{"set"}); sent != 27 {
		t.Errorf("sent %d, want 27", sent)
	}
	if sum := did.plus(did); sum.calls["evalsha"] != 40 || did.calls["evalsha"] != 20 {
		t.Errorf("twice 20 calls are %d, and the 20 are %d now", sum.calls["evalsha"], did.calls["evalsha"])
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
	if one.Pairs != 1200 || one.Seconds != 3 || one.CPUSeconds != 1.5 || one.Bytes != 4800 || one.Failed != 2 {
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
