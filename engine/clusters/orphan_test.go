package clusters_test

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// mentionsOf counts how often a logger says something.
type mentionsOf struct {
	what string
	n    atomic.Int64
}

func (m *mentionsOf) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(m.what)) {
		m.n.Add(1)
	}
	return len(line), nil
}

// A hash slot that nobody serves costs its own names their messages, and no others: what a node says of it, again and
// again, is no reason to end the connection over which the others are listened for.
func TestClusterSlotThatNobodyServesLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	for _, pubsub := range []engine.PubSub{engine.PubSubSharded, engine.PubSubBoth} {
		t.Run(pubsub.String(), func(t *testing.T) {
			t.Parallel()
			c := redistest.StartCluster(t, 3, 0)
			for _, node := range c.Nodes {
				node.MustDo("CONFIG", "SET", "cluster-require-full-coverage", "no")
			}
			breaks := &mentionsOf{what: "connection for unlock messages broke"}
			slow := func(o *engine.Options) {
				o.PubSub, o.PollCap, o.Lease = pubsub, time.Hour, time.Hour
				o.Logger = slog.New(slog.NewTextHandler(breaks, nil))
			}
			a, b := testkit.Join(t, c, slow), testkit.Join(t, c, slow)
			at := c.Nodes[0]
			orphan, other := nameAt(t, c, "orphan", at), nameAt(t, c, "other", at)
			held, orphaned := testkit.MustLock(t, a.Mutex(other)), testkit.MustLock(t, a.Mutex(orphan))
			waiter, lost := b.Mutex(other).LockAsync(testkit.Soon(t)), b.Mutex(orphan).LockAsync(t.Context())
			awaitListeners(t, at, 2)

			slot := strconv.Itoa(slotOf(orphan))
			for _, node := range c.Nodes {
				node.MustDo("CLUSTER", "DELSLOTS", slot)
			}
			redistest.Await(t, "the node to have said five times that nobody serves the slot", func() bool {
				said := 0
				for line := range strings.Lines(at.MustDo("INFO", "errorstats").Text) {
					if count, found := strings.CutPrefix(strings.TrimSpace(line), "errorstat_CLUSTERDOWN:count="); found {
						said, _ = strconv.Atoi(count)
					}
				}
				return said >= 5
			})
			if n := breaks.n.Load(); n > 0 {
				t.Errorf("the connection for messages broke %d times", n)
			}
			testkit.MustUnlock(t, held)
			testkit.MustUnlock(t, testkit.MustWait(t, waiter))
			at.MustDo("CLUSTER", "ADDSLOTS", slot)
			testkit.MustUnlock(t, orphaned)
			testkit.MustUnlock(t, testkit.MustWait(t, lost)) // somebody serves its slot again
		})
	}
}
