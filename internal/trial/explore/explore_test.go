package explore

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redismodel"
)

var (
	fullFlag   = flag.Bool("full", false, "search every small world, not only the quick ones")
	walksFlag  = flag.Int("walks", 800, "how many random walks")
	stepsFlag  = flag.Int("steps", 150, "the moves of each, at most")
	seedFlag   = flag.Uint64("seed", 1, "the seed of the first")
	statesFlag = flag.Int("states", 20_000_000, "the states of a small world, at most")
	worldFlag  = flag.String("world", "", "only this one")
)

// The heap is small and its garbage comes fast.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// quick are the worlds that are searched in every run: a cheap one of each kind that has one, and of the line, whose simple lock stands for
// all kinds.
var quick = map[string]bool{
	"mutex handed on": true, "fenced detaches": true, "line of a semaphore": true, "latch, standing still": true,
	"line forced while asked": true, "line and an open slot": true, "fair claims forced twice": true, "limit": true,
	"fenced line beside a publisher": true, "two names of a mutex and an open slot": true, "read-write line, refused": true, "simple line": true,
}

// Every order of events in small worlds.
func TestSearch(t *testing.T) {
	if *worldFlag != "" && worldNamed(*worldFlag) == nil {
		t.Fatalf("there is no world %q: worlds.go has their names", *worldFlag)
	}
	for _, w := range SmallWorlds {
		if *worldFlag != "" && *worldFlag != w.Name || *worldFlag == "" && !*fullFlag && !quick[w.Name] {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			r := Search(w, *statesFlag)
			t.Logf("%d states, %d steps, complete: %v", r.States, r.Steps, r.Complete)
			if r.Found != nil {
				t.Fatalf("%v", r.Found)
			}
			if !r.Complete {
				t.Errorf("it was not seen whole")
			}
		})
	}
}

// Random paths through bigger worlds.
func TestWalk(t *testing.T) {
	if *worldFlag != "" && worldNamed(*worldFlag) == nil {
		t.Fatalf("there is no world %q: worlds.go has their names", *worldFlag)
	}
	var (
		mu    sync.Mutex
		next  int
		group sync.WaitGroup
		steps int
		began = time.Now()
	)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			in := redismodel.NewInterpreter()
			for {
				mu.Lock()
				n := next
				next++
				mu.Unlock()
				if n >= *walksFlag || t.Failed() {
					return
				}
				w := BigWorlds[n%len(BigWorlds)]
				if *worldFlag != "" && *worldFlag != w.Name {
					continue
				}
				seed := *seedFlag + uint64(n)
				r := Walk(w, in, seed, *stepsFlag)
				mu.Lock()
				steps += r.Steps
				mu.Unlock()
				if r.Found != nil {
					t.Errorf("world %s, seed %d: %v", w.Name, seed, r.Found)
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d walks from seed %d, %d moves, %v", next, *seedFlag, steps, time.Since(began).Round(time.Millisecond))
}

// replayed plays a finding of former times: no invariant may break.
func replayed(t *testing.T, world, moves string) {
	t.Helper()
	w := worldNamed(world)
	if w == nil {
		t.Fatalf("there is no world %q", world)
	}
	list, err := ParseMoves(moves)
	if err != nil {
		t.Fatal(err)
	}
	if v := replay(w, redismodel.NewInterpreter(), list, nil); v != nil {
		t.Errorf("%v", &Finding{w, v.invariant, v.text, list})
	}
}

// What a move is called leads back to it.
func TestMovesAreRead(t *testing.T) {
	for do := range actions {
		for call := range calls {
			for fault := range faults {
				m := Move{do: do, engine: 1, index: 2, name: 1}
				switch do {
				case doCall:
					m.call = call
				case doFault:
					m.fault = fault
				}
				if got, err := ParseMoves(m.String()); err != nil || got[0] != m {
					t.Fatalf("%v is read as %v: %v", m, got, err)
				}
			}
		}
	}
	for _, wrong := range []string{"A.nothing", "tick#x", "A.lock@z", "tick#300"} {
		if _, err := ParseMoves(wrong); err == nil {
			t.Errorf("%q was read", wrong)
		}
	}
}

// What the search has found, and was mended. Each list of moves is as it was printed.
func TestFindings(t *testing.T) {
	for name, f := range map[string]struct{ world, moves string }{
		"a tenure's number is used again after its release was sent": {"fair in every order",
			`B.lock B.run hold tick B.arrive B.break B.mend B.run B.arrive B.run run-stray`},
		"a place comes back after its waiter was let in": {"fair in every order",
			`A.lock A.run A.arrive A.lock A.break unlock B.lock B.run B.arrive B.confirm B.run B.arrive tick A.mend A.run A.arrive B.hear B.run B.arrive unlock#2 B.run A.run A.arrive B.arrive run-stray tick`},
		"a place that is forced off before its engine hears that it was given the lock": {"big line beside an outsider",
			`A.lock@2 A.lock-staying@1 A.lock A.close A.run A.run#2 C.lock-fixed A.arrive#2 C.run A.arrive C.lock-briefly@2 C.arrive C.confirm C.run#1 A.run#1 C.arrive#1 C.force C.close noperm C.run#1`},
		"the claim of an engine that died ends by itself": {"big fair",
			`A.try@1 A.lock A.try-staying@2 B.lock-fixed@1 B.try-staying A.break B.run#1 A.mend A.run#2 A.arrive#2 A.confirm A.run#2 A.die`},
		"a later waiter of the same engine stands first": {"big fair",
			`B.try-fixed@1 B.run C.lock-owned failover-1 run-stray C.try@1 C.lock@1 tick C.lock@1 C.mend failover-1 run-stray run-stray C.force@1`},
		"Close gives up in the turn in which it began, because that turn began long ago": {"big semaphore",
			`D.acquire D.pause-in-turn D.close D.run tick`},
		"a place that was not given up while Redis could not be reached for long": {"big fair",
			`A.try-fixed@1 B.lock-owned A.run A.lock-owned A.run#1 B.lock-fixed@1 A.drop@1 B.run#1 A.arrive B.drop@1 B.arrive#1 A.die run-stray B.pause-in-turn tick B.break tick`},
		"a place of an engine that died long ago gets another five minutes": {"big fair",
			`A.try-fixed@1 C.lock@1 B.try D.lock-owned B.break A.run D.lock@1 C.die D.pause-in-turn A.pause-in-turn D.run#1 B.pause-in-turn run-stray#1 run-stray tick failover-1 D.resume noperm tick B.lock-fixed@1 D.lock-fixed@2 D.mend D.run#1 D.arrive#1 heal D.run D.arrive D.run#1`},
		"a re-entry whose tenure's first holder has just called Unlock": {"big fenced",
			`D.lock-owned D.run D.arrive D.pause D.lock-owned`},
		"a hold that is over when a loop that stood still hands it out": {"big fenced",
			`A.lock A.pause-in-turn A.run tick D.lock A.arrive D.run D.arrive`},
		"a place that Redis refused to let last longer": {"big line",
			`B.lock B.lock@1 B.run#1 A.lock-owned@2 A.lock-owned@1 A.run#1 B.lock-fixed@1 A.arrive#1 A.lock A.run#1 A.confirm A.run#2 A.arrive#1 A.arrive#1 noperm delay A.break A.mend A.run#1 A.run A.arrive A.arrive A.run`},
		"a code that says that the lock was given to a place comes when another has it, and the place stands again": {"big line",
			`B.lock B.run B.arrive A.lock A.run A.arrive A.confirm unlock B.run B.arrive A.run A.arrive B.lock B.run B.arrive B.confirm B.run B.arrive unlock#1 A.run A.arrive delay A.ring delay A.lock A.run delay B.ring B.run B.arrive`},
		"a caller waits for the end of a hold of its own engine that was forced off": {"big line of eight",
			`A.lock-fixed A.lock-owned A.run B.force B.run B.arrive`},
		"a waiter who was forced off asks under the same number": {"big fair",
			`A.lock A.run A.force A.break A.mend A.break A.mend A.run A.arrive run-stray`},
		"a count-down is sent again when its receipt has run out, by a loop that stood still": {"latch, standing still",
			`A.count-down A.run A.break A.mend A.pause-in-turn tick A.run A.arrive`},
		"an engine is kept alive in a queue in which nobody stands": {"fair stays",
			`A.lock-staying A.break run-stray`},
		"a publisher that has heard a token and a code announces another token": {"fenced line beside a publisher",
			`A.lock A.run A.arrive B.lock B.run B.arrive B.confirm unlock A.run A.arrive B.run B.arrive A.lock A.run A.arrive A.confirm A.run A.arrive unlock#1 B.run A.lose-message publish#4 publish#6`},
		"a place that is forced off while its question is on its way stands again": {"line forced while asked",
			`B.lock B.run B.arrive A.lock A.run A.arrive A.confirm unlock B.run A.run A.arrive B.arrive B.lock B.run B.arrive B.confirm B.run unlock#1 A.run B.force`},
		"a second force of a fair lock wakes nobody": {"fair claims forced twice",
			`A.lock A.run A.arrive A.lock B.lock B.run B.arrive B.confirm B.run C.force C.run A.run C.force C.arrive C.run`},
		"a least time that is longer than what is left of a gift": {"line and least times",
			`A.lock A.run A.arrive B.lock B.run B.arrive B.confirm unlock A.run A.arrive B.hear B.run B.arrive A.lock A.run A.arrive A.confirm A.run A.arrive tick B.ring B.run B.arrive A.lock-briefly A.pause unlock#1 B.run A.hear A.drop-first`},
		"a place whose code is that of a waiter who can be given the lock, and which the acquire of another does not take out": {"line and least times",
			`A.lock A.run A.arrive unlock A.run A.arrive B.lock B.run B.arrive A.lock A.run A.arrive A.confirm A.run A.arrive A.lock-briefly A.drop-first B.pause unlock#1 tick`},
		"a mutex asks for the key of its line while its slot is open": {"line and an open slot",
			`A.lock A.run A.arrive unlock B.lock B.run B.arrive B.confirm open-slot B.run B.arrive A.run A.arrive B.hear B.run B.arrive tick B.ring B.run`},
		"two releases of one owner id, of which each answer puts off the first": {"big mutex",
			`D.try-staying@1 D.break D.try-owned D.lock-owned@1 D.try-owned@2 D.mend D.run#2 D.adopt@1 D.run D.arrive D.pause-in-turn D.arrive#1 tick failover-1 tick`},
		"a holder's own engine is told that its owner is gone": {"mutex detaches",
			`A.lock A.run B.adopt B.run B.arrive B.adopt`},
		"an owner id that is to be released asks again, because its last refusal left no place": {"big fenced",
			`A.lock@2 A.lock-fixed B.try@1 A.lock-owned@1 A.drop@1 A.lock-fixed@2 C.try-staying A.run#2 C.run A.run#1 B.try A.arrive#1 B.run#1 A.confirm C.arrive unlock#5 B.lock-staying B.run A.run A.arrive#1 B.try@2 C.die B.lock@1 B.arrive#1 B.confirm run-stray B.run#2 B.arrive B.confirm A.arrive B.run#2 B.arrive#1 A.run#1 B.arrive#1 open-slot B.hear failover-1 B.mend-subscription B.mend B.run#1 publish#6 B.arrive#1 heal publish#3 publish#9 misconf B.hear B.run#1 B.run#2 B.hear B.arrive#1 B.arrive#1 B.hear`},
		"a call to the line that is heard before the answer to a release": {"line of a semaphore of three",
			`A.acquire-two A.run A.arrive A.confirm A.run A.arrive C.acquire C.run C.arrive tick B.acquire B.run B.arrive B.confirm B.give`},
		"a place that could not be given up is called": {"line of a semaphore, given up",
			`A.acquire-two A.run A.arrive A.confirm A.run A.arrive readonly B.acquire B.run A.drop-first A.run B.give`},
		"an engine is called by an older place of its own": {"line of a semaphore, given up",
			`A.acquire-two A.run A.arrive A.confirm A.run A.acquire B.acquire B.run B.arrive A.drop-first readonly A.arrive A.give A.run heal B.give B.run`},
		"a place in line that Redis refuses to take out, of an owner that has no lock": {"read-write line, refused",
			`A.write A.run B.write B.run B.arrive B.confirm B.run B.arrive readonly B.drop B.run B.arrive`},
		"permits of a caller who has gone are not given back after a refusal": {"big semaphore",
			`B.acquire-two B.drop B.run B.arrive noperm B.run`},
		"a called engine that Redis refuses to keep in line sleeps, and nobody else may take": {"line of a semaphore, given up",
			`A.acquire-two A.run A.arrive A.confirm A.run A.arrive tick A.ring A.run A.arrive A.confirm A.run A.arrive A.hear readonly A.run B.acquire`},
		"permits of several holds are freed by their ids, and the first refusal is told to nobody": {"big permits",
			`D.acquire D.acquire D.drop D.acquire D.run D.arrive D.run noperm D.arrive D.release D.run`},
	} {
		t.Run(name, func(t *testing.T) { replayed(t, f.world, f.moves) })
	}
}
