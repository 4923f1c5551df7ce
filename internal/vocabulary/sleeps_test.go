package vocabulary

import (
	"regexp"
	"strings"
	"testing"
)

var (
	// waiting are the folders whose tests wait for events.
	waiting = regexp.MustCompile(`^(cmd|contrib|dispatcher|engine|futures|scripts|wheel)/`)
	// virtualTime are the words of functions that sleep in a bubble of testing/synctest.
	virtualTime = regexp.MustCompile(`synctest|virtual\.|\bbubble\b|\b[sS]pec[A-Z]?\w*\(|\bonFleet\(|\.observe\(|\binBubble\(`)
	endOfDecl   = regexp.MustCompile(`(?m)^}$`)
)

// A test of the product sleeps for a fixed time only where that time is what it is about. Outside of bubbles the line of each Sleep says
// after "// sleeps:" what the time stands for.
func TestSleepsHaveAReason(t *testing.T) {
	t.Parallel()
	found := 0
	for _, path := range files(t, "_test.go") {
		if !waiting.MatchString(path) {
			continue
		}
		for _, decl := range endOfDecl.Split(read(t, path), -1) {
			for line := range strings.Lines(decl) {
				if !strings.Contains(line, "time.Sleep(") || virtualTime.MatchString(decl) {
					continue
				}
				if found++; !strings.Contains(line, "// sleeps: ") {
					t.Errorf("%s sleeps for a fixed time, and does not say why: %s", path, strings.TrimSpace(line))
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("%d sleeps were found: the search is blind", found)
	}
}
