package topology

import (
	"context"

	"github.com/redis/rueidis"
)

// AtSentinel reports whether a client is connected to a Sentinel in place of a server, and returns the names of the masters that it knows.
func AtSentinel(ctx context.Context, client rueidis.Client) (masters []string, is bool) {
	role, err := client.Do(ctx, client.B().Role().Build()).ToArray()
	if err != nil || len(role) != 2 {
		return nil, false
	}
	if name, _ := role[0].ToString(); name != "sentinel" {
		return nil, false
	}
	masters, _ = role[1].AsStrSlice()
	return masters, true
}
