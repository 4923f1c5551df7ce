package scripts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

const (
	someUUID  = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
	someOwner = someUUID + ":7"
)

// kinds is what each kind has in Redis besides the name itself: keys, Redisson's among them.
var kinds = map[string]func(name string) []string{
	"mutex": func(name string) []string {
		return []string{scripts.PrefixName("redisson_unlock_latch", name) + ":" + strings.Repeat("0f", 16)}
	},
	"fenced": func(name string) []string { return []string{scripts.TokenKey(name)} },
	"fair": func(name string) []string {
		return []string{scripts.FairQueue(name), scripts.FairDeadlines(name), scripts.FairAlive(name)}
	},
	"rw": func(name string) []string {
		return []string{scripts.SuffixName(name, someOwner+":rwlock_timeout:1")}
	},
	"semaphore": func(name string) []string { return []string{scripts.ReceiptKey(name, someUUID)} },
	"latch":     func(name string) []string { return []string{scripts.ReceiptKey(name, someUUID)} },
	"permits": func(name string) []string {
		return []string{scripts.PermitsKey(name), scripts.ReceiptKey(name, someUUID)}
	},
}

// manyNames is names with and without braces, and every key that is derived from them, twice over.
func manyNames() []string {
	names := []string{"a", "a:b", "{a}", "{{a}", "{a}b", "{a}:b", "a{b}", "redisson_lock_token", "redisson_lock_token:a"}
	for range 2 {
		for _, name := range slices.Clone(names) {
			for _, derived := range kinds {
				names = append(names, derived(name)...)
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	return names
}

// No two names have a key in common, whatever they are locks of, with three exceptions. A name that ends in ":timeout"
// may be where another one's held permits are: there, Redis's types keep them apart. "a" and "{a}" have the same keys by
// Redisson's rule: an engine refuses one while the other lives, for the kinds that this would mix up. It does not for
// fenced mutexes, whose tokens grow all the same, and for readers, of whom each has a key of its own.
// invariant: one-kind-per-name
func TestNamesHaveTheirKeysForThemselves(t *testing.T) {
	type user struct{ kind, name string }
	users := make(map[string][]user)
	refused := 0
	for _, name := range manyNames() {
		if what, is := scripts.Derived(name); is {
			refused++
			if what == "" {
				t.Errorf("%q is refused, and nobody says why", name)
			}
			continue
		}
		for kind, derived := range kinds {
			for _, key := range derived(name) {
				users[key] = append(users[key], user{kind, name})
			}
		}
		users[name] = append(users[name], user{"any", name})
	}
	if refused < 100 {
		t.Errorf("%d names are refused: that cannot be all", refused)
	}
	met := make(map[string]bool)
	for key, all := range users {
		for i, a := range all {
			for _, b := range all[i+1:] {
				if a.name == b.name { // one name has one kind
					continue
				}
				if a.kind > b.kind {
					a, b = b, a
				}
				pair := fmt.Sprintf("%s and %s", a.kind, b.kind)
				aliases := scripts.Alias(a.name) == b.name && scripts.Alias(b.name) == a.name
				switch {
				case pair == "any and permits" && strings.HasSuffix(key, ":timeout"):
				case aliases && slices.Contains([]string{"fair and fair", "fenced and fenced", "mutex and mutex", "permits and permits", "rw and rw"}, pair):
				default:
					t.Errorf("%s: %q and %q both have %q", pair, a.name, b.name, key)
				}
				met[pair] = true
			}
		}
	}
	for _, pair := range []string{"any and permits", "fair and fair", "fenced and fenced", "permits and permits"} {
		if !met[pair] {
			t.Errorf("%s never met: what is said of them is not true any more", pair)
		}
	}
}

// What nobody derives is nobody's, however much it looks so.
func TestNamesThatAreNobodysKeys(t *testing.T) {
	for _, name := range []string{
		"stock:7", "{stock}:7", "stock{7}", "{stock}:timeout", "stock:timeout", "redisson_lock_token", "redisson_lock_token:stock",
		"redisson_lock:{stock}", "my_redisson_lock_token:{stock}", "wheellock:alive", "a:rwlock_timeout:1", "redisson_lock_queue{stock}",
		"redisson_lock__channel:{stock}", "redisson_rwlock:{stock}", "redisson_sc:{stock}",
	} {
		if what, is := scripts.Derived(name); is {
			t.Errorf("%q is refused as %s", name, what)
		}
	}
}

func TestAlias(t *testing.T) {
	for name, want := range map[string]string{
		"a": "{a}", "{a}": "a", "a}": "{a}}", "{a}}": "a}", "": "{}", "{a}b": "", "b{a}": "", "{{a}": "", "{": "", "{a": "", "{{a}}": "",
	} {
		if got := scripts.Alias(name); got != want {
			t.Errorf("Alias(%q) = %q, want %q", name, got, want)
		}
	}
}

// Two semaphores of which one is called "a" and the other one "{a}" are two: what one was told is no answer for the other.
// invariant: change-has-one-effect
func TestReceiptsOfAliasesAreApart(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		give := func(name string, number int) string {
			return b.eval(scripts.Give, []string{name, scripts.ReceiptKey(name, someUUID), scripts.LineKey(name)}, "PUBLISH", 0, number, 1, scripts.SemaphoreChannel(name))
		}
		b.want(give("{a}", 8), "0", "the later call")
		b.want(give("a", 7), "0", "the earlier one, which was under way for longer")
		b.want(b.must("GET", "{a}"), "1", "{a}")
		b.want(b.do("GET", "a"), "1", "a")
	})
}
