package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/interop/driver"
	"github.com/wheellock/wheellock/internal/redistest"
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
		shared, err := openShared(file)
		if err != nil {
			t.Fatal(err)
		}
		alone := func(name string) sample {
			answer, _ := driver.Read(<-drivers[0].Start("handover lock %s 0 %s 3 0.1", name, file.Name()))
			one, err := readDriven(answer)
			if err != nil {
				t.Fatal(err)
			}
			return one
		}
		s.Do("HSET", "taken", "285475da-9152-4c83-822a-67ee2f116a79:51", "1")
		shared.word(wordReleased).Store(time.Now().UnixNano()) // the other process says that it lets go
		if one := alone("taken"); one.Lost != 1 || one.Pairs != 0 || one.Waits.Count() != 1 || one.Waits.Percentile(100) < lostAfter {
			t.Errorf("%d lost, %d pairs, %d waits, the longest %v; want 1, 0, 1, at least %v",
				one.Lost, one.Pairs, one.Waits.Count(), one.Waits.Percentile(100), lostAfter)
		}
		shared.enter(0)
		if one := alone("free"); one.Broken != one.Pairs || one.Pairs == 0 {
			t.Errorf("%d of %d holds were found to be beside another", one.Broken, one.Pairs)
		}
	})
	for _, id := range []string{"hot-2p", "handover", "handover-fenced", "handover-fair", "fleet-semaphore-2"} {
		t.Run(id, func(t *testing.T) {
			w, _ := workNamed(id)
			e := redissonEntry(jar)
			if !e.takesPart(w) {
				t.Fatal("it does not take part")
			}
			checkTurn(t, session{opts: options{length: 200 * time.Millisecond, away: testAway}, server: s, work: w, entry: e},
				func(turn *session) (measurement, error) { return brief.measureWith(turn, drivers) })
		})
	}
}
