package interop

import (
	"slices"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/engine"
)

// newClusterPair is both sides in a cluster of three masters, each finding the nodes by itself. Redisson speaks over sharded
// channels there, and so do we.
func newClusterPair(t *testing.T) *pair {
	t.Helper()
	p := newServers(t, true)
	p.java = startRedisson(t, "--cluster", "--redis", p.urls())
	p.Engine = openAt(t, p.addrs(), engine.Options{})
	return p
}

// TestInACluster: what holds on one server holds here.
func TestInACluster(t *testing.T) {
	t.Parallel()
	p := newClusterPair(t)
	t.Run("matrix", p.matrixInACluster)
	t.Run("counts", p.countsInACluster)
	t.Run("contention", func(t *testing.T) { contendForAll(t, p) })
	t.Run("readers and writers", func(t *testing.T) { readAndWrite(t, p) })
}

// Each side waits for the other and is woken by its sharded message, sees its hold and forces it.
func (p *pair) matrixInACluster(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.redisson, func(t *testing.T) {
			p.theyWait(t, k)
			p.weWait(t, k)
			p.theySee(t, k)
			p.weSee(t, k)
			p.theyForce(t, k)
			p.weForce(t, k)
		})
	}
	for _, k := range []kind{kinds[0], kinds[3], kinds[4]} { // lock, fair and write
		p.listenSharded(t, k)
	}
}

// While Redisson waits for a name, somebody listens to a sharded channel and nobody to a plain one.
func (p *pair) listenSharded(t *testing.T, k kind) {
	t.Helper()
	name := "listened:" + k.redisson
	h := lock(t, k.lock(p.Engine, name))
	theirs := p.java.Start("lock %s %s t1", k.redisson, name)
	p.awaitWaiter(t, k, name)
	p.awaitSleeper(t)
	var plain, sharded []string
	for _, node := range p.nodes {
		now := node.Subscriptions()
		plain, sharded = append(plain, now.Channels...), append(sharded, now.Shard...)
	}
	if plain = slices.DeleteFunc(plain, func(channel string) bool { return !strings.Contains(channel, "redisson") }); len(plain) > 0 || len(sharded) == 0 {
		t.Errorf("%s: somebody listens to plain channels %q, or nobody to sharded ones %q", k.redisson, plain, sharded)
	}
	unlock(t, h)
	woken(t, theirs, "Redisson's waiter")
	p.java.Do("unlock %s %s t1", k.redisson, name)
}

// Permits and latches of one side wake the other.
func (p *pair) countsInACluster(t *testing.T) {
	ours := NewOurs(func() *engine.Engine { return openAt(t, p.addrs(), engine.Options{}) })
	for _, sides := range []struct {
		name          string
		waits, wakens party
	}{{"theirs", p.java, ours}, {"ours", ours, p.java}} {
		t.Run(sides.name, func(t *testing.T) {
			for _, step := range []struct{ name, before, waits, wakens string }{
				{"pool", "set-permits semaphore pool-%s 1", "acquire semaphore pool-%s t1 2", "release semaphore pool-%s 1"},
				{"desks", "set-permits permit desks-%s 0", "acquire permit desks-%s t1 1", "add-permits permit desks-%s 1"},
				{"start", "set-count start-%s 1", "await start-%s t1", "count-down start-%s"},
			} {
				mustAnswer(t, step.before, <-sides.wakens.Start(step.before, sides.name))
				waits := sides.waits.Start(step.waits, sides.name)
				p.awaitWaiter(t, kind{}, step.name+"-"+sides.name)
				mustAnswer(t, step.wakens, <-sides.wakens.Start(step.wakens, sides.name))
				woken(t, waits, "who waits: "+step.waits)
			}
		})
	}
}
