package gate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Some times stand in a script as well, in milliseconds.
func TestTimesAreThoseOfTheScripts(t *testing.T) {
	for _, c := range []struct {
		of   scripts.Script
		name string
		time time.Duration
	}{
		{scripts.Release, "GIFT", giftTime},
		{scripts.Release, "TURN", othersTurn},
		{scripts.AcquireInLine, "STANDS", placeTime},
		{scripts.FairAsk, "CLAIM", giftTime},
		{scripts.ReleaseSimple, "REST", pollWindow},
		{scripts.Take, "OTHERS", othersTime},
	} {
		if line := fmt.Sprintf("local %s = %d ", c.name, c.time.Milliseconds()); !strings.Contains(c.of.Text, line) {
			t.Errorf("%s has no %q", c.of.Name, line)
		}
	}
}
