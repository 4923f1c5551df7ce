package redistest

import "testing"

func TestSentinel(t *testing.T) {
	t.Parallel()
	s := StartSentinel(t, 2)
	first := s.Master()
	if first != s.Nodes[0].Addr() || len(s.Addrs()) != 3 {
		t.Fatalf("master %s of %d sentinels, want %s of 3", first, len(s.Addrs()), s.Nodes[0].Addr())
	}
	t.Run("makes another node the master on demand, twice", func(t *testing.T) {
		second := s.Failover()
		s.Node(second).MustDo("SET", "k", "second")
		third := s.Failover()
		if second == first || third == second {
			t.Errorf("masters %s, %s, %s: want a change each time", first, second, third)
		}
		if got := s.Node(third).MustDo("GET", "k").Text; got != "second" {
			t.Errorf("k = %q at the new master, want second", got)
		}
	})
	t.Run("replaces a killed master, which comes back as a replica", func(t *testing.T) {
		old := s.Master()
		s.Node(old).Kill()
		master := s.AwaitMaster(old)
		s.Node(old).Restart()
		s.Node(master).MustDo("SET", "k", "new")
		Await(t, "the old master as a replica", func() bool { return s.Node(old).Do("GET", "k").Text == "new" })
	})
	if s.Node("nowhere:1") != nil {
		t.Error("there is a node at nowhere:1")
	}
}
