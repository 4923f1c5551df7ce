package gate

import (
	"flag"
	"fmt"
	"testing"
)

var (
	seedFlag   = flag.Uint64("gate.seed", 0, "play the worlds from this seed on; 0: from 1")
	worldsFlag = flag.Int("gate.worlds", 0, "how many worlds to play of each kind; 0: 200, or 2000 with -gate.long")
)

// brokenRule is what a world panics with, so that it stops where it stands.
type brokenRule string

// play plays the world of a seed. Empty: every rule held.
func play(seed uint64, kind Kind, unsubscribed bool) (diary, broken string) {
	s := newStorm(seed, kind, func(rule string) { panic(brokenRule(rule)) })
	s.unsubscribed = unsubscribed
	defer func() {
		diary = s.diary.String()
		switch p := recover().(type) {
		case nil:
		case brokenRule:
			broken = string(p)
		default:
			broken = fmt.Sprintf("panic: %v", p)
		}
	}()
	s.run()
	s.pass(settleTime)
	s.checkQuiet()
	return
}

// TestWorlds plays hundreds of short worlds, with and without faults. A failure names its seed, which plays
// the same world again:
//
//	go test ./dispatcher/gate -run TestWorlds -gate.seed 1234 -gate.worlds 1
//
// invariant: one-command-per-name, released-owner-is-dead, fair-queue-order
func TestWorlds(t *testing.T) {
	for name, kind := range map[string]Kind{"mutex": MutexKind, "fenced": FencedKind, "spin": SpinKind, "simple": SimpleKind, "fair": FairKind} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, n := max(*seedFlag, 1), *worldsFlag
			if n == 0 {
				n = usually(200, 2000)
			}
			for seed := first; seed < first+uint64(n); seed++ {
				if _, broken := play(seed, kind, true); broken != "" {
					diary, _ := play(seed, kind, false)
					t.Fatalf("seed %d: %s\n%s", seed, broken, lastLines(diary, 150))
				}
			}
		})
	}
}

// TestSameSeedSameWorld is what makes a failure worth reporting.
func TestSameSeedSameWorld(t *testing.T) {
	for seed := range uint64(50) {
		first, _ := play(seed, MutexKind, false)
		again, _ := play(seed, MutexKind, false)
		if first != again {
			t.Fatalf("seed %d: two different diaries", seed)
		}
	}
}

func lastLines(text string, n int) string {
	for i := len(text) - 1; i > 0; i-- {
		if text[i-1] == '\n' {
			if n--; n == 0 {
				return "...\n" + text[i:]
			}
		}
	}
	return text
}
