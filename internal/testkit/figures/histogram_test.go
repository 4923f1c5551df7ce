package figures

import (
	"encoding/json"
	"testing"
	"time"
)

func TestHistogramKeepsItselfInJSON(t *testing.T) {
	var h, back Histogram
	for i := range 10_000 {
		h.Record(time.Duration(i) * time.Microsecond)
	}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	for _, p := range []float64{0, 50, 90, 99, 99.9, 100} {
		if a, b := h.Percentile(p), back.Percentile(p); a != b || a == 0 && p > 0 {
			t.Errorf("p%g is %v, and %v after a trip through JSON", p, a, b)
		}
	}
	if h.Count() != 10_000 || back.Count() != 10_000 {
		t.Errorf("count %d and %d, want 10000", h.Count(), back.Count())
	}
}

func TestHistogramEmpty(t *testing.T) {
	var h, back Histogram
	text, err := json.Marshal(h)
	if err != nil || string(text) != "null" {
		t.Fatalf("marshalled %s, %v; want null", text, err)
	}
	back.Record(time.Second)
	if err := json.Unmarshal(text, &back); err != nil || back.Count() != 0 {
		t.Errorf("unmarshalled %d records, %v; want an empty one", back.Count(), err)
	}
	back.Add(&h)
	if back.Percentile(50) != 0 || back.Mean() != 0 {
		t.Errorf("an empty one has p50 %v, mean %v", back.Percentile(50), back.Mean())
	}
	if err := json.Unmarshal([]byte(`"no histogram"`), &back); err == nil {
		t.Error("nonsense was read as a histogram")
	}
}

func TestHistogramCountsWhatIsOutOfRange(t *testing.T) {
	var h Histogram
	h.Record(-time.Second)
	h.Record(100 * time.Hour)
	if h.Count() != 2 {
		t.Errorf("count %d, want 2", h.Count())
	}
	if top := h.Percentile(100); top < 59*time.Minute || top > 61*time.Minute {
		t.Errorf("the longest is %v, want about an hour", top)
	}
}

func TestHistogramIsExactToAThousandth(t *testing.T) {
	for _, d := range []time.Duration{time.Microsecond, 123 * time.Microsecond, 45678 * time.Microsecond, 30 * time.Minute} {
		var h Histogram
		h.Record(d)
		if off := (h.Percentile(50) - d).Abs(); off > d/1000+64 {
			t.Errorf("%v is kept as %v", d, h.Percentile(50))
		}
	}
}
