package doctor

import (
	"fmt"
	"strings"

	"github.com/wheellock/wheellock/scripts"
)

// lockChannels are the channels of locks, semaphores and latches without a name.
var lockChannels = []string{scripts.LockChannel(""), scripts.RWChannel(""), scripts.SemaphoreChannel(""), scripts.LatchChannel("")}

// channelScript returns a channel with subscribers for each pattern that has any. All of them may be too many for one reply.
const channelScript = "local heard = {} for _, pattern in ipairs(ARGV) do heard[#heard + 1] = redis.call('PUBSUB', 'CHANNELS', pattern)[1] end return heard"

// channels looks for subscribers of plain channels in a cluster: engines publish on sharded ones if the cluster has them.
func channels(n *node) []Finding {
	switch {
	case !n.isCluster():
		return fine("not a cluster")
	case n.publish() == "PUBLISH":
		return found(Note, "the cluster has no sharded channels, so engines and Redisson use plain ones",
			"A message for one waiter goes to every node of the cluster.", "use Redis 7 or newer, or Valkey, if the cluster is large")
	}
	ask := []string{"EVAL", channelScript, "0"}
	for _, channel := range lockChannels {
		ask = append(ask, strings.TrimSuffix(channel, "{}")+"*")
	}
	heard, err := n.do(ask...).AsStrSlice()
	n.failed("PUBSUB CHANNELS", err)
	if len(heard) == 0 {
		return nil
	}
	return found(Note, fmt.Sprintf("somebody listens to plain channels of locks, such as %q", heard[0]),
		"Engines publish on sharded channels in this cluster, if Options.PubSub says nothing else. So who listens to plain ones alone (Redisson before "+
			"3.28.0 or with shardedSubscriptionMode OFF, engines with PubSubPlain) is not woken, and waits for up to 30 s longer.",
		"give all engines Options.PubSub PubSubBoth, or if nobody listens to sharded channels, PubSubPlain; if they have it, nothing is wrong")
}
