package topology

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/atomic"
)

// sentinelClient is a client whose master a test decides.
type sentinelClient struct {
	rueidis.Client
	mode   rueidis.ClientMode
	master atomic.String
}

func (s *sentinelClient) Mode() rueidis.ClientMode { return s.mode }
func (s *sentinelClient) Nodes() map[string]rueidis.Client {
	return maps.Collect(func(yield func(string, rueidis.Client) bool) { yield(s.master.Load(), nil) })
}

func TestFollower(t *testing.T) {
	t.Run("tells once of each other master", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &sentinelClient{mode: rueidis.ClientModeSentinel}
			c.master.Store("a:1")
			var told atomic.Int32
			f := Follow(c, func() { told.Inc() })
			time.Sleep(10 * followEvery)
			if n := told.Load(); n != 0 {
				t.Errorf("told %d times of the master of the beginning", n)
			}
			c.master.Store("b:1")
			time.Sleep(10 * followEvery)
			c.master.Store("a:1")
			time.Sleep(10 * followEvery)
			if n := told.Load(); n != 2 {
				t.Errorf("told %d times, want twice", n)
			}
			f.Close()
			f.Close()
		})
	})
	t.Run("looks four times a second, however often the sentinels say that another is the master", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &sentinelClient{mode: rueidis.ClientModeSentinel}
			c.master.Store("a:1")
			var told atomic.Int32
			f := Follow(c, func() { told.Inc() })
			defer f.Close()
			for i := range 10_000 {
				c.master.Store([]string{"b:1", "a:1", "c:1"}[i%3])
				time.Sleep(time.Millisecond)
			}
			if n := told.Load(); n > 40 {
				t.Errorf("10,000 messages in 10 s: told %d times, want at most 40", n)
			}
		})
	})
	t.Run("follows nobody where the master does not change", func(t *testing.T) {
		c := &sentinelClient{mode: rueidis.ClientModeStandalone}
		c.master.Store("a:1")
		f := Follow(c, func() {})
		f.Close()
		if f != nil || MasterOf(c) != "" {
			t.Errorf("follows %v, master %q", f, MasterOf(c))
		}
	})
}
