package doctor

import (
	"fmt"
	"strings"
)

// memory judges how much of maxmemory is left. A server that deletes any key to gain memory refuses nothing: see eviction.
func memory(n *node) []Finding {
	limit, used := n.number("maxmemory"), n.number("used_memory")
	what := megabytes(used) + " of maxmemory " + megabytes(limit) + " are used"
	switch {
	case limit == 0 || used < limit/10*9 || strings.HasPrefix(n.info()["maxmemory_policy"], "allkeys-"):
		return nil
	case used < limit:
		return found(Warning, what, "When all is used, Redis refuses to take locks (OOM).", set("maxmemory", 2*used))
	}
	return found(Error, what, "Redis refuses to take locks (OOM). Locks that are held can be renewed and freed.", set("maxmemory", 2*used))
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
