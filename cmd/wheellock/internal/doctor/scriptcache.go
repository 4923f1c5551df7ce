package doctor

import (
	"fmt"
	"strings"
)

// scriptCache judges whether loaded scripts stay.
func scriptCache(n *node) []Finding {
	forgotten, samples := 0, n.samples()
	for _, s := range samples {
		if s.script != nil && strings.HasPrefix(s.script.Error(), "NOSCRIPT") {
			forgotten++
		} else {
			n.failed("EVALSHA", s.script)
		}
	}
	if forgotten == 0 {
		return nil
	}
	return found(Warning, fmt.Sprintf("the server did not have a loaded script at %d of %d calls", forgotten, len(samples)),
		"Each time an engine loads its scripts again, which delays all that waits for this server.",
		"find out who runs SCRIPT FLUSH, and take the right away (ACL SETUSER ... -script|flush); name the servers in place of a proxy that spreads calls over several")
}
