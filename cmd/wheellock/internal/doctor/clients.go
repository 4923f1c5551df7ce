package doctor

import (
	"fmt"
	"strconv"
)

// clients judges how many connections are left.
func clients(n *node) []Finding {
	open := n.number("connected_clients")
	most, err := strconv.ParseInt(n.info()["maxclients"], 10, 64) // since 7.0
	if err != nil {
		most = n.configured("maxclients")
	}
	what := fmt.Sprintf("%d of %d connections are open", open, most)
	if 5*open >= 4*most {
		return found(Warning, what, "When none is left, no engine can open, and one whose connection breaks cannot come back: it loses its locks.", set("maxclients", 2*most))
	}
	return fine(what)
}
