package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wheellock/wheellock/scripts"
)

// lockChannels are the beginnings of all channels of locks, semaphores and latches.
var lockChannels = []string{scripts.LockChannel(""), scripts.RWChannel(""), scripts.SemaphoreChannel(""), scripts.LatchChannel("")}

// channels looks for subscribers of plain channels in a cluster: engines publish on sharded ones if the cluster has them.
func channels(n *node) []Finding {
	switch {
	case !n.isCluster():
		return fine("not a cluster")
	case n.publish() == "PUBLISH":
		return found(Note, "the cluster has no sharded channels, so engines and Redisson use plain ones",
			"A message for one waiter goes to every node of the cluster.", "use Redis 7 or newer, or Valkey, if the cluster is large")
	}
	heard, err := n.do("PUBSUB", "CHANNELS", "redisson_*").AsStrSlice()
	n.failed("PUBSUB CHANNELS", err)
	heard = slices.DeleteFunc(heard, func(channel string) bool {
		return !slices.ContainsFunc(lockChannels, func(begin string) bool { return strings.HasPrefix(channel, strings.TrimSuffix(begin, "{}")) })
	})
	if len(heard) == 0 {
		return nil
	}
	return found(Note, fmt.Sprintf("somebody listens to plain channels of locks, such as %q", slices.Min(heard)),
		"Engines publish on sharded channels in this cluster, if Options.PubSub says nothing else. So who listens to plain ones alone (Redisson before "+
			"3.28.0 or with shardedSubscriptionMode OFF, engines with PubSubPlain) is not woken, and waits for up to 30 s longer.",
		"give all engines Options.PubSub PubSubBoth, or if nobody listens to sharded channels, PubSubPlain; if they have it, nothing is wrong")
}
