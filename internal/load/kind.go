package load

import (
	"strconv"
	"strings"

	"github.com/wheellock/wheellock/scripts"
)

// Kind is which synchroniser of the engine is put under load. Empty means Mutex.
type Kind string

// The kinds.
const (
	Mutex     Kind = "mutex"
	Fair      Kind = "fair"
	Fenced    Kind = "fenced"
	Spin      Kind = "spin"
	Simple    Kind = "simple"
	RW        Kind = "rw"
	Multi     Kind = "multi" // of two names that stand side by side
	Quorum    Kind = "quorum"
	Semaphore Kind = "semaphore"
	Permits   Kind = "permits" // a PermitSemaphore
	Limit     Kind = "limit"   // the same, with the number in each call
	Latch     Kind = "latch"
)

// Kinds are all of them, in the order in which they are explained.
var Kinds = []Kind{Mutex, Fair, Fenced, Spin, Simple, RW, Multi, Quorum, Semaphore, Permits, Limit, Latch}

// Shares reports whether several may be inside at once, and are counted.
func (k Kind) Shares() bool { return k == RW || k.HasPermits() }

// HasPermits reports whether a name has permits, which must all be back in the end.
func (k Kind) HasPermits() bool { return k == Semaphore || k == Permits || k == Limit }

// WitnessCommands are the commands one checked section costs Redis, by their names in commandstats.
func (k Kind) WitnessCommands() []string {
	if k.Shares() {
		return []string{"incrby", "pexpire", "decrby"}
	}
	return []string{"incr", "pexpire", "del"}
}

// name is the i-th name of a run.
func (p *Plan) name(i int) string { return p.Prefix + strconv.Itoa(i) }

// PermitKeys are the keys that hold the permits of the names.
func (p *Plan) PermitKeys() (keys []string) {
	for i := range p.Names {
		if p.Kind.HasPermits() {
			keys = append(keys, p.name(i))
		}
	}
	return keys
}

// IsPermits reports whether a key is one of these.
func (p *Plan) IsPermits(key string) bool {
	number, found := strings.CutPrefix(key, p.Prefix)
	_, err := strconv.Atoi(number)
	return found && err == nil && p.Kind.HasPermits()
}

// Remains reports whether a key may be left when nobody holds anything: the counter of a check, an engine's
// receipt, which ends by itself within a minute, or the token of a fenced lock, which stands for ever.
func (p *Plan) Remains(key string) bool {
	return strings.HasPrefix(key, CheckPrefix(p.Prefix)) ||
		(p.Kind.HasPermits() || p.Kind == Latch) && strings.Contains(key, receipt) ||
		p.Kind == Fenced && strings.HasPrefix(key, tokens)
}

// IsLine reports whether a key is the line of engines that wait for a name. The place of a process that died stands there for up to a minute.
// The older version that a test builds this program with has no such keys, and so no name for them.
func IsLine(key string) bool { return strings.HasSuffix(key, ":wheellock:line") }

// What the keys of receipts have inside, and the keys of tokens in front.
var (
	receipt   = strings.TrimPrefix(scripts.ReceiptKey("", ""), "{}")
	tokens, _ = strings.CutSuffix(scripts.TokenKey("{}"), "{}")
)
