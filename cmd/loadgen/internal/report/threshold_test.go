package report

import (
	"strings"
	"testing"
)

func TestThreshold(t *testing.T) {
	runs := runsAt(3, 1000, 2000, 4000)
	for text, exceeded := range map[string]bool{
		"throughput<2k": false, "throughput<=2k": true, "throughput>1999": true, "throughput>=2001": false, " throughput < 2001 ": true,
		"acquire.max>2us": false, "acquire.max>=2us": true, "acquire.mean<1ms": true,
		"handover.p50<1h": true, // nothing was measured
	} {
		threshold, err := ParseThreshold(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		why := threshold.Exceeded(runs)
		if (why != "") != exceeded || exceeded && !strings.Contains(why, "--fail "+strings.ReplaceAll(text, " ", "")+": ") {
			t.Errorf("%s: %q, want it exceeded: %t", text, why, exceeded)
		}
	}
}

// A limit with a sign and % is one of the change between two results, and any other one of the second.
func TestThresholdOfAChange(t *testing.T) {
	before, after := runsAt(3, 1000, 1100, 1200), runsAt(3, 900, 990, 1300)
	for text, want := range map[string]string{
		"throughput<-5%":     "it went from 1,100 to 990, by -10.0%",
		"throughput<-10%":    "",
		"throughput<=-10%":   "by -10.0%",
		"acquire.mean>+0.5%": "",
		"throughput<1k":      "it is 990, the median of 3 runs",
		"throughput<900":     "",
		"handoffs<-5%":       "nothing was measured",
		"handoffs<90%":       "nothing was measured",
	} {
		threshold, err := ParseChange(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if why := threshold.ExceededBy(before, after); (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%s: %q, want %q", text, why, want)
		}
	}
	for _, bad := range []string{"throughput<5%", "acquire.p99>+5", "speed>+5%", "throughput=+5%"} {
		if _, err := ParseChange(bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// Every metric can be asked for by the name that the tables show.
func TestMetricsAreFoundByTheirNames(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Metrics {
		if found, err := metric(m.Name); err != nil || found.Name != m.Name || seen[m.Name] {
			t.Errorf("%s: %v", m.Name, err)
		}
		seen[m.Name] = true
	}
	r := collected().Account(facts())
	for name, want := range map[string]float64{"acquire.p50": 500, "acquire.p99.9": 999, "acquire.p100": 1000, "handover.p90": 90, "across.p50": 1000} {
		m, err := metric(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		near(t, name, m.of(r), want)
	}
	if _, err := metric("speed"); err == nil || !strings.Contains(err.Error(), "throughput") {
		t.Errorf("a metric that there is not: %v", err)
	}
}
