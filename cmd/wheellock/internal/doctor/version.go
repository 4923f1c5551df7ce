package doctor

import (
	"fmt"
	"strings"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// The oldest version of Redis that the engine supports. README.md says so, too.
const oldestMajor, oldestMinor = 6, 2

// version judges the version of the server. What is compatible with Redis says with which version, but not by all of its commands:
// of these the check of the rights finds what is missing.
func version(n *node) []Finding {
	info := n.info()
	if hello, err := n.do("HELLO").AsMap(); resp.Product(info) == resp.Product(nil) && err == nil { // INFO does not say
		n.err = nil
		name, version := hello["server"], hello["version"]
		product, _ := name.ToString()
		info = make(map[string]string)
		info[product+"_version"], _ = version.ToString()
	}
	product, like := resp.Product(info), info["redis_version"]
	if !strings.HasPrefix(product, "Redis ") {
		if like != "" {
			product += ", which says that it is compatible with Redis " + like
		}
		return fine(product)
	}
	var major, minor int
	if _, err := fmt.Sscanf(like, "%d.%d", &major, &minor); err != nil {
		n.failed("the version "+like, err)
	}
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		oldest := fmt.Sprintf("Redis %d.%d", oldestMajor, oldestMinor)
		return found(Error, "the server is "+product, "The engine needs "+oldest+": without its commands some kinds of locks fail.", "upgrade the server to "+oldest+" or newer")
	}
	return fine(product)
}
