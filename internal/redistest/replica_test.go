package redistest

import "testing"

func TestReplica(t *testing.T) {
	t.Parallel()
	master := Start(t, "--requirepass", "secret")
	master.MustDo("SET", "before", "1")
	t.Run("has its master's data from the start", func(t *testing.T) {
		replica := StartReplica(t, master)
		if got := replica.MustDo("GET", "before").Text; got != "1" {
			t.Errorf("before = %q, want 1", got)
		}
		master.MustDo("SET", "after", "2")
		if got := master.MustDo("WAIT", "1", "5000").Int; got != 1 {
			t.Errorf("%d replicas acknowledged, want 1", got)
		}
	})
	t.Run("falls behind in a partition and catches up", func(t *testing.T) {
		open := Start(t)
		proxy := NewProxy(t, open.Addr())
		replica := StartReplica(t, proxy)
		proxy.BlackHole(Both, true)
		open.MustDo("SET", "late", "1")
		Await(t, "the write on its way", func() bool { return proxy.Stats().WaitingToClient > 0 })
		if got := replica.MustDo("GET", "late"); !got.Nil {
			t.Errorf("late = %v during the partition, want nil", got)
		}
		proxy.BlackHole(Both, false)
		Await(t, "the write at the replica", func() bool { return replica.Do("GET", "late").Text == "1" })
	})
}
