package view

import (
	"testing"
	"time"
)

func TestLength(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 695414975: "695ms", 1549 * time.Millisecond: "1.5s", 59600 * time.Millisecond: "1m0s", 2*time.Hour + 3*time.Minute: "2h3m0s",
	} {
		if got := length(d); got != want {
			t.Errorf("%d ns is shown as %s, want %s", d, got, want)
		}
	}
}
