package main

import (
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

func TestCommandsThatAContestantSends(t *testing.T) {
	calls := map[string]int64{"evalsha": 20, "eval": 1, "set": 7, "hset": 40}
	if n := sent(resp.Counters{Commands: calls}, []string{"set"}); n != 28 {
		t.Errorf("sent %d, want 28", n)
	}
}

func TestDrivenIsRead(t *testing.T) {
	one, err := readDriven(`{"Seconds":3.000000,"Pairs":1200,"Waits":"HISTFAAAACp4nJNpmSzMwMDAzQABzFCaEUzy//9v/wEisNR3A+drrRmcq80kAJ73COw=",` +
		`"Usage":{"cpu_ns":1500000000,"bytes":4800},"Failed":2,"Lost":1,"Broken":0}`)
	if err != nil {
		t.Fatal(err)
	}
	if one.Counts.Pairs != 1200 || one.Elapsed != 3*time.Second || one.Usage.CPU != 1500*time.Millisecond || one.Usage.Bytes != 4800 || one.Counts.Failed != 2 || one.Counts.Lost != 1 {
		t.Errorf("got %+v", one)
	}
	rounded := func(percent float64) time.Duration {
		return one.Times.Across.Percentile(percent).Round(time.Microsecond)
	}
	if rounded(50) != 15*time.Microsecond || rounded(99) != 99*time.Microsecond || rounded(100) != time.Millisecond {
		t.Errorf("times %v, %v, %v; want 15µs, 99µs, 1ms", rounded(50), rounded(99), rounded(100))
	}
	empty, err := readDriven(`{"Seconds":3.000000,"Pairs":0,"Waits":"HISTFAAAABx4nJNpmSzMwMDAyAABzFAaxmey/wBlAQA8yQJ9","Usage":{"cpu_ns":0,"bytes":0},"Failed":0,"Lost":0,"Broken":0}`)
	if err != nil || empty.Times.Acquire.Count() != 0 {
		t.Errorf("without a pair: %+v, %v", empty, err)
	}
	listed, err := readDriven(`{"Seconds":1.5,"Pairs":2,"CallerPairs":[2,0],"Took":[1000000,9000000]}`)
	if err != nil || listed.Counts.Pairs != 2 || len(listed.Callers) != 2 || listed.Times.Acquire.Count() != 2 || listed.Times.Acquire.Percentile(100).Round(time.Millisecond) != 9*time.Millisecond {
		t.Errorf("with a list of times: %+v, %v", listed, err)
	}
	for _, text := range []string{"", "{", "pairs=3", `{"Pairs":3}`, `{"Pairs":3,"Seconds":1,"Waits":"HIST"}`} {
		if _, err := readDriven(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestATurnInWhichMoreHoldANameThanMayIsVoid(t *testing.T) {
	good, broken := load.Sample{Elapsed: time.Second}, load.Sample{Elapsed: time.Second}
	good.Counts.Pairs, broken.Counts.Pairs, broken.Counts.Violations = 3, 6, 1
	good.Counts.Handovers, broken.Counts.Handovers = 1, 2
	if r := newResult(allWorks[0], entry{}, 1, measurement{samples: []load.Sample{good, broken}}, nil); !strings.Contains(r.Void, "NO EXCLUSION") {
		t.Errorf("void for %q", r.Void)
	}
	broken.Counts.Violations = 0
	r := newResult(allWorks[0], entry{}, 1, measurement{samples: []load.Sample{good, broken}}, nil)
	if r.Void != "" || r.PairsPerSecond != 9 || r.Handovers != 3.0/9 || r.perHandover(20) != 60 {
		t.Errorf("%+v", r)
	}
}
