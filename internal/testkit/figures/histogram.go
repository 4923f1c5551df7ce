package figures

import (
	"encoding/json"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histogram is an HDR histogram of durations, exact to a thousandth, from 64 ns to an hour; what is longer
// counts as an hour. The zero value is empty and takes no room. One goroutine at a time may use it. Its JSON
// is the usual text form of HDR histograms (V2, compressed, base64), in nanoseconds, or null when empty.
type Histogram struct{ hdr *hdrhistogram.Histogram }

const longest = int64(time.Hour)

// Record notes one duration.
func (h *Histogram) Record(d time.Duration) {
	if h.hdr == nil {
		h.hdr = hdrhistogram.New(64, longest, 3)
	}
	h.hdr.RecordValue(min(max(int64(d), 0), longest)) // within bounds there is no error
}

// Add puts everything from o into h.
func (h *Histogram) Add(o *Histogram) {
	if o.Count() == 0 {
		return
	}
	if h.hdr == nil {
		h.hdr = hdrhistogram.New(64, longest, 3)
	}
	h.hdr.Merge(o.hdr)
}

// Reset makes h empty and keeps its room.
func (h *Histogram) Reset() {
	if h.Count() > 0 {
		h.hdr.Reset() // it walks through tens of thousands of counts
	}
}

// Count is how many durations were recorded.
func (h *Histogram) Count() int64 {
	if h.hdr == nil {
		return 0
	}
	return h.hdr.TotalCount()
}

// Percentile is the duration that p percent of all do not exceed; 100 is the longest.
func (h *Histogram) Percentile(p float64) time.Duration {
	if h.hdr == nil {
		return 0
	}
	return time.Duration(h.hdr.ValueAtPercentile(p))
}

// Mean is the average.
func (h *Histogram) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.hdr.Mean())
}

// MarshalJSON implements json.Marshaler.
func (h Histogram) MarshalJSON() ([]byte, error) {
	if h.Count() == 0 {
		return []byte("null"), nil
	}
	text, err := h.hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, err
	}
	return json.Marshal(string(text))
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil || text == nil {
		h.hdr = nil
		return err
	}
	var err error
	h.hdr, err = hdrhistogram.Decode([]byte(*text))
	return err
}
