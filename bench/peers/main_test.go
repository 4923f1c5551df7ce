package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestMain lets the test binary be the child of its own tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		roles(os.Args[1])
	}
	os.Exit(m.Run())
}

func TestFlags(t *testing.T) {
	ids := func(works []work) (all []string) {
		for _, w := range works {
			all = append(all, w.ID)
		}
		return all
	}
	plain := []string{"distinct-1", "distinct-2", "distinct-4", "distinct-8", "distinct-16", "distinct-64", "distinct-1024", "distinct-async", "hot-64", "hot16-1024", "hot-2p", "handover"}
	t.Run("take every work of plain locks by default, 5 rounds of 3 s", func(t *testing.T) {
		opts, err := parseFlags(nil)
		if err != nil {
			t.Fatal(err)
		}
		if opts.rounds != 5 || opts.length.Seconds() != 3 || !slices.Equal(ids(opts.works), plain) || len(opts.entries) != len(contestants()) {
			t.Errorf("got %+v", opts)
		}
	})
	t.Run("keep the order of the list, not of the flag", func(t *testing.T) {
		opts, err := parseFlags([]string{"--work", "handover-fair, hot-2p, distinct-1"})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := ids(opts.works), []string{"distinct-1", "hot-2p", "handover-fair"}; !slices.Equal(got, want) {
			t.Errorf("works %v, want %v", got, want)
		}
	})
	t.Run("take patterns, and each work once", func(t *testing.T) {
		opts, err := parseFlags([]string{"--work", "fleet-*-32,fleet-mutex-*,hot-2p"})
		if err != nil {
			t.Fatal(err)
		}
		got := ids(opts.works)
		if first := []string{"hot-2p", "fleet-mutex-2-5ms", "fleet-mutex-8-5ms"}; len(got) != 1+2*len(fleetCallers)+len(fleetKinds)-1 || !slices.Equal(got[:3], first) {
			t.Errorf("works %v", got)
		}
	})
	t.Run("take one server or several", func(t *testing.T) {
		for _, servers := range [][]string{nil, {"redis-server"}, {"redis-server --io-threads 2", "/opt/valkey-server"}} {
			var args []string
			for _, command := range servers {
				args = append(args, "--redis-server", command)
			}
			want := servers
			if want == nil {
				want = []string{"redis-server"}
			}
			if opts, err := parseFlags(args); err != nil || !slices.Equal(opts.servers, want) {
				t.Errorf("%q: servers %q, %v", args, opts.servers, err)
			}
		}
	})
	t.Run("refuse what is not in the lists", func(t *testing.T) {
		for _, args := range [][]string{{"--work", "hot-65"}, {"--work", "hot-2p,fleet-*-33"}, {"--only", "etcd"}, {"--rounds", "0"}, {"--for", "-1s"}, {"distinct-1"}} {
			if _, err := parseFlags(args); err == nil {
				t.Errorf("%v was taken", args)
			}
		}
	})
}

func TestEveryContestantIsComplete(t *testing.T) {
	for _, e := range append(contestants(), redissonEntry("driver.jar"), redisPyEntry("")) {
		if e.settings == "" || e.lacks == "" {
			t.Errorf("%s: the report has nothing to say about it", e.name)
		}
		ways := 0
		for _, set := range []bool{e.open != nil, e.kind != "", e.measure != nil} {
			if set {
				ways++
			}
		}
		if ways != 1 {
			t.Errorf("%s: %d ways to run it, want 1", e.name, ways)
		}
		if strings.Contains(e.settings+e.lacks, "|") {
			t.Errorf("%s: a | would break the table", e.name)
		}
	}
}
