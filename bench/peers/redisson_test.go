package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/interop/driver"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit/sharedmem"
)

// TestRedisson has a real Redisson do the works of two processes. make redisson runs it.
func TestRedisson(t *testing.T) {
	if os.Getenv("WHEELLOCK_INTEROP") == "" {
		t.Skip("SKIPPED: make redisson runs it. NOT PROVED: that Redisson's figures can be measured")
	}
	redistest.Require(t, "redis-server", "java", "mvn")
	jar, err := driver.Jar()
	if err != nil {
		t.Fatal(err)
	}
	s, err := startServer(t.Context(), "redis-server", "", testAway)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	brief := redisson(500*time.Millisecond, slices.Concat(driver.Brief, []string{"-jar", jar})...)
	drivers, err := brief.start(t.Context(), s, 2)
	defer end(drivers)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("its clock is that of the other contestants", func(t *testing.T) {
		before := time.Now().UnixNano()
		answer, ok := driver.Read(<-drivers[0].Start("now"))
		after := time.Now().UnixNano()
		if now, err := strconv.ParseInt(answer, 10, 64); !ok || err != nil || now < before || now > after {
			t.Errorf("its clock says %q between %d and %d", answer, before, after)
		}
	})
	t.Run("it notes lost hand-overs, and two holders", func(t *testing.T) {
		file, err := os.Create(filepath.Join(t.TempDir(), "memory"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := file.Truncate(sharedBytes); err != nil {
			t.Fatal(err)
		}
		memory, err := sharedmem.Map(file, sharedBytes)
		if err != nil {
			t.Fatal(err)
		}
		alone := func(name string) *load.Sample {
			answer, _ := driver.Read(<-drivers[0].Start("handover lock %s 0 %s 3 0.1", name, file.Name()))
			one, err := readDriven(answer)
			if err != nil {
				t.Fatal(err)
			}
			return one
		}
		s.Do("HSET", "taken", "285475da-9152-4c83-822a-67ee2f116a79:51", "1")
		binary.NativeEndian.PutUint64(memory, uint64(time.Now().UnixNano())) // the other process says that it lets go
		if one := alone("taken"); one.Counts.Lost != 1 || one.Counts.Pairs != 0 || one.Times.Across.Count() != 1 || one.Times.Across.Percentile(100) < time.Second {
			t.Errorf("%d lost, %d pairs, %d waits, the longest %v; want 1, 0, 1, at least %v",
				one.Counts.Lost, one.Counts.Pairs, one.Times.Across.Count(), one.Times.Across.Percentile(100), time.Second)
		}
		memory[4*64] = 1 // and that it has the lock, too
		if c := alone("free").Counts; c.Violations != c.Pairs || c.Pairs == 0 {
			t.Errorf("%d of %d holds were found to be beside another", c.Violations, c.Pairs)
		}
	})
	for _, id := range []string{"hot-2p", "handover", "handover-fenced", "handover-fair", "fleet-semaphore-2"} {
		t.Run(id, func(t *testing.T) {
			w, _ := workNamed(id)
			e := redissonEntry(jar)
			if !e.takesPart(w) {
				t.Fatal("it does not take part")
			}
			checkTurn(t, turn{opts: options{length: 200 * time.Millisecond, away: testAway}, server: s, work: w, entry: e},
				func(one *turn) (measurement, error) { return brief.measureWith(one, drivers) })
		})
	}
}
