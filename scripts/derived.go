package scripts

import "strings"

// Alias is the name that has the same derived keys: "{a}" of "a", and "a" of "{a}"; "" when there is none.
func Alias(name string) string {
	open := strings.IndexByte(name, '{')
	if open < 0 {
		return "{" + name + "}"
	}
	if last := len(name) - 1; open == 0 && name[last] == '}' && strings.IndexByte(name[1:], '{') < 0 {
		return name[1:last]
	}
	return ""
}

// ahead and behind are what derived keys begin with, and what they have behind the name.
var (
	ahead = map[string]string{
		"redisson_lock_token":   "the fencing counter of a fenced mutex",
		"redisson_lock_queue":   "the queue of a fair mutex",
		"redisson_lock_timeout": "the deadlines of a fair mutex",
		"redisson_unlock_latch": "what Redisson notes of an unlock",
	}
	behind = map[string]string{
		":wheellock:":      "what engines like this one note beside a name",
		":rwlock_timeout:": "a reader's hold",
	}
)

// Derived reports whether a name is one that the rules of keys.go make for a key of some other name, and what stands
// there: a lock of that name could meet it. Derived names all have an opening brace.
//
// "{a}:timeout" is no such name although PermitSemaphore "a" keeps there what is held: it is one that somebody may want,
// and Redis keeps a sorted set apart from every lock.
func Derived(name string) (what string, is bool) {
	open := strings.IndexByte(name, '{')
	if open < 0 {
		return "", false
	}
	prefix, _, _ := strings.Cut(name[:open], ":")
	if what, is = ahead[prefix]; is && len(prefix) < open {
		return what, true
	}
	for mark, what := range behind {
		if strings.Contains(name[open:], mark) {
			return what, true
		}
	}
	return "", false
}
