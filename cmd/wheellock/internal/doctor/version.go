package doctor

import (
	"fmt"
)

// The oldest version of Redis that the engine supports. README.md says so, too.
const oldestMajor, oldestMinor = 6, 2

// version judges the version of the server.
func version(n *node) []Finding {
	has := n.info()["redis_version"]
	if hello, err := n.do("HELLO").AsMap(); has == "" && err == nil {
		n.err = nil
		version := hello["version"]
		has, _ = version.ToString()
	}
	var major, minor int
	if _, err := fmt.Sscanf(has, "%d.%d", &major, &minor); err != nil {
		n.failed("the version "+has, err)
	}
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		oldest := fmt.Sprintf("Redis %d.%d", oldestMajor, oldestMinor)
		return found(Error, "the server is Redis "+has, "The engine needs "+oldest+": without its commands some kinds of locks fail.", "upgrade the server to "+oldest+" or newer")
	}
	return fine("Redis " + has)
}
