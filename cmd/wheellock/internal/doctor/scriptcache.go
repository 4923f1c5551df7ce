package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
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
	const harm = "Each time an engine loads its scripts again, which delays all that waits for this server."
	const cure = "find out who runs SCRIPT FLUSH, and take the right away (ACL SETUSER ... -script|flush)"
	if forgotten > 0 {
		return found(Warning, fmt.Sprintf("the server did not have a loaded script at %d of %d calls", forgotten, len(samples)),
			harm, cure+"; name the servers in place of a proxy that spreads calls over several")
	}
	if flushes := n.scriptFlushes(); flushes > 0 {
		return found(Note, "SCRIPT FLUSH ran "+cli.Plural(flushes, "time", "times")+" since the server started or CONFIG RESETSTAT ran", harm, cure)
	}
	return nil
}

// scriptFlushes is how often SCRIPT FLUSH ran; 0 also if the server does not tell, as before Redis 7.
func (n *node) scriptFlushes() int64 {
	text, _ := n.do("INFO", "commandstats").ToString()
	calls, _, _ := strings.Cut(strings.TrimPrefix(fieldsOf(text)["cmdstat_script|flush"], "calls="), ",")
	flushes, _ := strconv.ParseInt(calls, 10, 64)
	return flushes
}
