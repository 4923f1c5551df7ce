package scripts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

// giving is a script that answers for how many ms it gives the lock to somebody, who keeps it.
func giving(s scripts.Script) scripts.Script {
	return wrapped(s, "local gift = 'nothing'", `
	local key, lease, _, _, px = ...
	if key == KEYS[1] and name == 'PEXPIRE' then gift = lease end
	if key == KEYS[1] and name == 'SET' then gift = px end`, "server.call('PERSIST', KEYS[1]) reply = gift")
}

// lockInLine is a lock of one kind that ann has, and for which bob stands in line.
type lockInLine struct {
	setup          func(*box)
	acquire        scripts.Script // bob's
	acquireKeys    []string
	acquireArgs    []any // with a nil for the lease
	release        scripts.Script
	releaseArgs    []any
	place, channel string     // bob's, and that of the lock
	gave           func(*box) // checks that bob has it
}

func (l *lockInLine) asks(b *box, lease any) string {
	b.Helper()
	args := slices.Clone(l.acquireArgs)
	args[slices.Index(args, nil)] = lease
	return b.eval(l.acquire, l.acquireKeys, args...)
}

func (l *lockInLine) releases(b *box, script scripts.Script) string {
	b.Helper()
	return b.eval(script, lineNames[:2], l.releaseArgs...)
}

// linesOf are the locks of all kinds, and of places with a proof and without.
func linesOf() map[string]*lockInLine {
	locks := make(map[string]*lockInLine)
	for code, name := range map[int]string{secret: "", woken: ", without a proof"} {
		locks["mutex"+name] = &lockInLine{
			standing(ann+":1", "1"),
			scripts.AcquireInLine, lineNames, []any{0, 64, 0, "PUBLISH", bob + ":1", nil, code},
			scripts.Release, []any{"PUBLISH", ann + ":1", channel},
			fmt.Sprint(bob, ":1 ", code), channel,
			func(b *box) { b.stands(one, bob+":1=1") },
		}
		locks["simple lock"+name] = &lockInLine{
			simply(annOwner),
			scripts.AcquireSimpleInLine, lineNames[:2], []any{0, "PUBLISH", bobOwner, nil, code, channel},
			scripts.ReleaseSimple, []any{"PUBLISH", annOwner, channel, hour},
			fmt.Sprint(bobOwner, " ", code), channel,
			func(b *box) { b.want(b.must("GET", one), bobOwner, "GET") },
		}
		locks["writer"+name] = &lockInLine{
			standing("mode", "write", ann+":1:write", "1"),
			scripts.AcquireWriteInLine, lineNames[:2], []any{0, "PUBLISH", bob + ":1:write", nil, code},
			scripts.ReleaseWrite, []any{"PUBLISH", ann + ":1:write", rwChannel},
			fmt.Sprint(bob, ":1:write ", code), rwChannel,
			func(b *box) { b.stands(one, bob+":1:write=1", "mode=write") },
		}
	}
	return locks
}

// invariant: gift-counts-from-its-acquire
func TestALockIsGivenForTheLeaseOfItsPlace(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		for kind, lock := range linesOf() {
			for name, of := range map[string]struct {
				asked []any  // leases; none: the place is of an earlier version, whose scores have no fraction
				want  string // for how many ms it is given
			}{
				"a lease":                        {[]any{5000}, "5000"},
				"a short lease":                  {[]any{300}, "300"},
				"the shortest":                   {[]any{1}, "1"},
				"an odd one":                     {[]any{9999}, "9999"},
				"10 s":                           {[]any{10_000}, "10000"},
				"10 s of a longer one":           {[]any{10_001}, "10000"},
				"10 s of an hour":                {[]any{hour}, "10000"},
				"a lease that has grown":         {[]any{300, 5000}, "5000"},
				"a lease that grew beyond 10 s":  {[]any{9999, hour}, "10000"},
				"the longest that was asked for": {[]any{5000, 300, 400}, "5000"},
				"2 s of an earlier version":      {nil, "2000"},
			} {
				b.run(t, kind+": "+name, func(t *testing.T, b *box) {
					lock.setup(b)
					b.listen(scripts.Inbox(lock.channel, bob))
					for _, lease := range of.asked {
						lock.asks(b, lease)
					}
					if of.asked == nil {
						b.must("ZADD", lineNames[1], "1", lock.place)
					}
					b.wantLine(lock.place)
					b.want(lock.releases(b, giving(lock.release)), of.want, "the release")
					lock.gave(b)
				})
			}
		}
	})
}

// invariant: gift-counts-from-its-acquire
func TestWhoeverWasGivenALockIsGrantedItByAsking(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		for kind, lock := range linesOf() {
			b.run(t, kind, func(t *testing.T, b *box) {
				lock.setup(b)
				inbox := scripts.Inbox(lock.channel, bob)
				heard := b.listen(inbox)
				lock.asks(b, hour)
				b.want(lock.releases(b, lock.release), given, "the release")
				lock.gave(b)
				b.wantLine()
				message := map[bool]string{true: proof, false: "0"}[strings.HasSuffix(lock.place, " 77")]
				b.want(b.said(inbox, heard), message, "the inbox")
				b.want(lock.asks(b, 300), "1", "the acquire")
				if left := number(t, b.must("PTTL", one)); left <= 300 {
					t.Errorf("the lock has %d ms left, want what it was given for", left)
				}
				lock.gave(b)
				b.want(lock.asks(b, hour), "1", "the next acquire")
				b.lasts(one, hour)
				b.wantLine()
			})
		}
	})
}
