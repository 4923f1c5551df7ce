package scripts_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// The scenes of locks. What stands lasts for half an hour, and an hour is asked for.

const half = 30 * time.Minute

// scenes are those of all kinds.
func scenes() []scene {
	return slices.Concat(lockScenes, rwScenes, fairScenes, countingScenes, permitScenes, simpleScenes)
}

// standing sets up a lock with fields and values.
func standing(fields ...string) func(*box) {
	return func(b *box) {
		b.must(append([]string{"HSET", one}, fields...)...)
		b.must("PEXPIRE", one, "1800000")
	}
}

// reading sets up hold keys of readers besides.
func reading(setup func(*box), owners ...string) func(*box) {
	return func(b *box) {
		setup(b)
		for _, owner := range owners {
			b.must("SET", scripts.HoldKey(one, owner), "1", "PX", "1800000")
		}
	}
}

var (
	names     = []string{one}
	nobody    = scripts.LockChannel("nobody")
	counter   = scripts.TokenKey(one)
	readNames = []string{one, scripts.LineKey(one), scripts.HoldKey(one, "me:1")}
	holdNames = []string{one, readNames[2]}
)

var lockScenes = []scene{
	{"acquire", scripts.Acquire, nil, names, []any{0, "me:1", hour}, gives(1, "me:1")},
	{"acquire again", scripts.Acquire, standing("me:1", "1"), names, []any{0, "me:1", hour}, gives(1, "me:1")},
	{"acquire in line", scripts.AcquireInLine, nil, lineNames, []any{0, 64, 86400000, "PUBLISH", "me:1", hour, 77}, gives(1, "me:1")},
	{"acquire in line again", scripts.AcquireInLine, lined(standing("me:1", "1"), "me:1"), lineNames, []any{0, 64, 86400000, "PUBLISH", "me:1", hour, 77}, gives(1, "me:1")},
	{"acquire fenced", scripts.AcquireFenced, nil, []string{one, counter}, []any{0, 64, 86400000, "me:1", hour}, gives(1, "me:1")},
	{"acquire fenced again", scripts.AcquireFenced, standing("me:1", "1"), []string{one, counter}, []any{0, 64, 0, "me:1", hour}, gives(1, "me:1")},
	{"acquire in line what is fenced", scripts.AcquireInLine, nil, fencedLineNames, []any{0, 64, 86400000, "PUBLISH", "me:1", hour, 77}, gives(1, "me:1")},
	{"acquire in line what is fenced again", scripts.AcquireInLine, lined(standing("me:1", "1"), "me:1"), fencedLineNames, []any{0, 64, 0, "PUBLISH", "me:1", hour, 77}, gives(1, "me:1")},
	{"renew", scripts.Renew, standing("me:1", "1"), names, []any{"me:1", hour}, gives(1, "me:1")},
	{"confirm", scripts.Confirm, standing("me:1", "1"), lineNames[:2], []any{"PUBLISH", "me:1", hour, nobody}, gives(0, "me:1")},
	{"detach", scripts.Detach, standing("me:1", "1"), unfenced, detaching, detached},
	{"detach a fair lock", scripts.Detach, func(b *box) {
		queued(2, true)(b)
		standing("me:1", "1")(b)
	}, fairKeys[:2], detaching, detached},
	{"adopt", scripts.Adopt, standing("java:1", "2"), unfenced, adopting, adopted},
	{"adopt again", scripts.Adopt, standing("me:1", "1"), unfenced, adopting, adopted},
	{"adopt what is fenced", scripts.Adopt, standing("java:1", "2"), []string{one, counter}, adopting, adopted},
	{"adopt what is fenced again", scripts.Adopt, standing("me:1", "1"), []string{one, counter}, adopting, adopted},
	{"release", scripts.Release, standing("me:1", "1"), lineNames[:2], []any{"PUBLISH", "me:1", nobody}, frees("me:1")},
	{"release to the line", scripts.Release, lined(standing("me:1", "1"), bob+":2"), lineNames[:2], []any{"PUBLISH", "me:1", nobody}, givenAway},
	{"release from line", scripts.ReleaseFromLine, lined(standing("me:1", "1"), "me:1"), lineNames[:2], []any{"PUBLISH", "me:1", nobody, 77}, frees("me:1")},
}

// givenAway checks who has a lock after a release to the line.
func givenAway(o *outcome) {
	o.Helper()
	frees("me:1")(o)
	if _, given := o.reply.Given(); given {
		o.want(o.must("HEXISTS", one, bob+":2"), "1", "the field of the first in line")
	}
}

// givenToWrite does that for a read-write lock.
func givenToWrite(o *outcome) {
	o.Helper()
	if _, given := o.reply.Given(); given {
		o.want(o.must("HGET", one, "mode"), "write", "the mode")
		o.want(o.must("HEXISTS", one, bob+":2:write"), "1", "the field of the first in line")
	}
}

// lined has an owner stand in line besides. Whoever listens to nobody's channel hears what is for it.
func lined(setup func(*box), owner string) func(*box) {
	return func(b *box) {
		setup(b)
		b.must("ZADD", lineNames[1], "1", owner+" 77")
		b.must("PEXPIRE", lineNames[1], "1800000")
	}
}

// firstToRead has me:1 stand in line to read, before a writer.
func firstToRead(setup func(*box)) func(*box) {
	return func(b *box) {
		setup(b)
		b.must("ZADD", lineNames[1], "1", "me:1 0", "2", bob+":2:write 77")
		b.must("PEXPIRE", lineNames[1], "1800000")
	}
}

// unfenced are the keys of a lock without a counter or a queue, in a call that has a place for one.
var unfenced = []string{one, one}

var (
	detaching = []any{"PUBLISH", "me:1", "me:1:detached", hour, nobody}
	adopting  = []any{0, 64, 86400000, "java:1", "me:1", hour}
)

// detached checks who has the lock; asked again it lasts as long as it did.
// invariant: detached-name-stays
func detached(o *outcome) {
	o.Helper()
	switch {
	case !o.granted(0):
		o.kept(one)
	case strings.Contains(o.before[one].value, "me:1:detached"):
		o.want(fmt.Sprint(o.thing(one).value), o.before[one].value, "the lock")
	default:
		o.has("me:1:detached")
		o.hasNot("me:1")
	}
}

// adopted checks who has the lock: never two.
// invariant: detached-name-stays
func adopted(o *outcome) {
	o.Helper()
	gives(1, "me:1")(o)
	if o.granted(1) {
		o.hasNot("java:1")
	}
}

var rwScenes = []scene{
	{"read", scripts.AcquireRead, nil, readNames, []any{0, "PUBLISH", "me:1", hour, ""}, gives(1, "me:1", readNames[2])},
	{"read beside another", scripts.AcquireRead, standing("mode", "read", "java:1", "1"), readNames,
		[]any{0, "PUBLISH", "me:1", hour, ""}, gives(1, "me:1", readNames[2])},
	{"read again", scripts.AcquireRead, reading(standing("mode", "read", "me:1", "1"), "me:1"), readNames,
		[]any{0, "PUBLISH", "me:1", hour, ""}, gives(1, "me:1", readNames[2])},
	{"read again without its key", scripts.AcquireRead, standing("mode", "read", "me:1", "1"), readNames,
		[]any{0, "PUBLISH", "me:1", hour, ""}, gives(1, "me:1", readNames[2])},
	{"write", scripts.AcquireWrite, nil, lineNames[:1], []any{0, "me:1:write", hour}, gives(1, "me:1:write")},
	{"write in line", scripts.AcquireWriteInLine, lined(func(*box) {}, "me:1:write"), lineNames[:2], []any{0, "PUBLISH", "me:1:write", hour, 77}, gives(1, "me:1:write")},
	{"write again", scripts.AcquireWriteInLine, standing("mode", "write", "me:1:write", "1"), lineNames[:2], []any{0, "PUBLISH", "me:1:write", hour, 77}, gives(1, "me:1:write")},
	{"read in line", scripts.AcquireRead, firstToRead(standing("mode", "read", "java:1", "1")), readNames,
		[]any{0, "PUBLISH", "me:1", hour, 77}, gives(1, "me:1", readNames[2])},
	{"renew a reader", scripts.RenewRead, reading(standing("mode", "read", "me:1", "1"), "me:1"), holdNames,
		[]any{"me:1", hour}, gives(1, "me:1", readNames[2])},
	{"confirm a reader without its key", scripts.ConfirmRead, standing("mode", "read", "me:1", "1"), readNames,
		[]any{"PUBLISH", "me:1", hour, nobody}, gives(0, "me:1", readNames[2])},
	{"release the last reader to the line", scripts.ReleaseReadFromLine, lined(reading(standing("mode", "read", "me:1", "1"), "me:1"), bob+":2:write"), readNames,
		[]any{"PUBLISH", 0, "me:1", nobody, 1}, givenToWrite},
	{"release a writer to the line", scripts.ReleaseWriteFromLine, lined(standing("mode", "write", "me:1:write", "1"), bob+":2:write"), lineNames[:2],
		[]any{"PUBLISH", "me:1:write", nobody, 77}, givenToWrite},
	{"release a writer before readers in line", scripts.ReleaseWriteFromLine, func(b *box) {
		standing("mode", "write", "me:1:write", "1")(b)
		b.must("ZADD", lineNames[1], "1", bob+":2 0", "2", bob+":3 0")
		b.must("PEXPIRE", lineNames[1], "1800000")
	}, lineNames[:2], []any{"PUBLISH", "me:1:write", nobody, 77}, frees("me:1:write")},
	{"release the last reader", scripts.ReleaseRead, reading(standing("mode", "read", "me:1", "1"), "me:1"), readNames,
		[]any{"PUBLISH", 0, "me:1", nobody}, func(o *outcome) {
			frees("me:1")(o)
			if o.granted(0) {
				o.want(o.must("EXISTS", one), "0", "answer ", o.reply, ": EXISTS")
			}
		}},
	{"release a reader beside another", scripts.ReleaseRead, reading(standing("mode", "read", "me:1", "2", "java:1", "1"), "me:1", "java:1"), readNames,
		[]any{"PUBLISH", 0, "me:1", nobody}, func(o *outcome) {
			frees("me:1")(o)
			if o.why != wrongType {
				o.want(o.must("HEXISTS", one, "java:1"), "1", "answer ", o.reply, ": the field of the other")
			}
		}},
	{"release a reader beside a dead one", scripts.ReleaseRead, reading(standing("mode", "read", "me:1", "1", "java:1", "1"), "me:1"), readNames,
		[]any{"PUBLISH", 0, "me:1", nobody}, frees("me:1")},
	{"release a writer", scripts.ReleaseWrite, standing("mode", "write", "me:1:write", "1"), lineNames[:2], []any{"PUBLISH", "me:1:write", nobody}, frees("me:1:write")},
	{"release a writer that reads", scripts.ReleaseWrite, reading(standing("mode", "write", "me:1:write", "1", "me:1", "1"), "me:1"), lineNames[:2],
		[]any{"PUBLISH", "me:1:write", nobody}, frees("me:1:write")},
	{"downgrade", scripts.Downgrade, standing("mode", "write", "me:1:write", "1"), readNames, []any{"PUBLISH", "me:1:write", "me:1", hour, nobody},
		func(o *outcome) {
			gives(0, "me:1", readNames[2])(o)
			if o.granted(0) {
				o.hasNot("me:1:write")
				o.want(o.must("HGET", one, "mode"), "read", "the mode")
			}
		}},
	{"downgrade a writer that reads", scripts.Downgrade, reading(standing("mode", "write", "me:1:write", "1", "me:1", "1"), "me:1"), readNames,
		[]any{"PUBLISH", "me:1:write", "me:1", hour, nobody}, func(o *outcome) {
			gives(0, "me:1", readNames[2])(o)
			if o.granted(0) {
				o.hasNot("me:1:write")
			}
		}},
	{"downgrade again", scripts.Downgrade, standing("mode", "read", "me:1", "1"), readNames, []any{"PUBLISH", "me:1:write", "me:1", hour, nobody},
		gives(0, "me:1", readNames[2])},
}

var fairKeys = []string{one, scripts.FairQueue(one), scripts.FairDeadlines(one), scripts.FairAlive(one), scripts.ClaimsKey(one)}

// asking is what a waiter of a fair lock asks.
func asking(id int, place string, n, first int) []any {
	return []any{"9000000000000", "me", hour, "PUBLISH", id, place, hour, n, first, nobody, 0}
}

// queued puts waiters of ours into the queue of a lock that another has, which then goes or stays.
func queued(n int, free bool) func(*box) {
	return func(b *box) {
		standing("java:1", "1")(b)
		b.eval(scripts.FairAsk, fairKeys, asking(0, "TRY", n, 1)...)
		if free {
			b.must("DEL", one)
		}
	}
}

// inLine checks that whoever stands in the queue has a deadline, when nothing is refused any more.
func inLine(o *outcome) {
	o.Helper()
	deadlines := o.list("ZRANGE", fairKeys[2], "0", "-1")
	for _, owner := range o.list("LRANGE", fairKeys[1], "0", "-1") {
		if o.why == scripts.None && !slices.Contains(deadlines, owner) {
			o.Errorf("answer %d: %s stands in the queue; deadlines have %q", o.reply, owner, deadlines)
		}
	}
}

// fairly is gives, of a lock with a queue.
func fairly(owner string) func(*outcome) {
	return func(o *outcome) {
		o.Helper()
		gives(1, owner)(o)
		inLine(o)
	}
}

var fairScenes = []scene{
	{"ask for a free fair lock", scripts.FairAsk, nil, fairKeys, asking(1, "NEW", 1, 1), fairly("me:1")},
	{"ask for it again", scripts.FairAsk, standing("me:1", "1"), fairKeys, asking(1, "NEW", 1, 1), fairly("me:1")},
	{"ask when it is our turn", scripts.FairAsk, queued(2, true), fairKeys, asking(1, "OLD", 0, 0), fairly("me:1")},
	{"join", scripts.FairAsk, standing("java:1", "1"), fairKeys, asking(1, "NEW", 2, 1), func(o *outcome) {
		if _, held := o.reply.Held(); !held {
			o.kept(one)
		} else {
			o.want(o.must("LRANGE", fairKeys[1], "0", "-1"), "[me:1 me:2]", "answer ", o.reply, ": the queue")
			o.want(o.must("ZCARD", fairKeys[2]), "2", "answer ", o.reply, ": the deadlines")
		}
		inLine(o)
	}},
	{"go back to the head", scripts.FairAsk, queued(0, false), fairKeys, asking(1, "OLD", 0, 0), func(o *outcome) {
		if _, held := o.reply.Held(); !held {
			o.kept(one)
		} else {
			o.want(o.must("LRANGE", fairKeys[1], "0", "-1"), "[me:1]", "answer ", o.reply, ": the queue")
		}
		inLine(o)
	}},
	{"release to the next of ours", scripts.FairRelease, func(b *box) {
		queued(2, true)(b)
		standing("me:9", "1")(b)
	}, fairKeys, []any{"PUBLISH", "me", "me:9", 1, hour, nobody}, func(o *outcome) {
		frees("me:9")(o)
		if o.reply == scripts.Passed {
			o.has("me:1")
		}
		inLine(o)
	}},
	{"release to nobody", scripts.FairRelease, standing("me:9", "1"), fairKeys, []any{"PUBLISH", "me", "me:9", 0, hour, nobody}, frees("me:9")},
	{"leave", scripts.FairLeave, func(b *box) {
		queued(3, true)(b)
		standing("me:1", "1")(b)
	}, fairKeys, []any{"PUBLISH", "me", 2, 1, nobody}, func(o *outcome) {
		if o.reply == 0 {
			if o.why != wrongType { // of another type it is not ours to free
				o.hasNot("me:1")
			}
			o.want(o.must("LRANGE", fairKeys[1], "0", "-1"), "[me:3]", "answer ", o.reply, ": the queue")
			inLine(o)
		} else if o.reply.Fault() == scripts.None {
			o.Errorf("answered %d", o.reply)
		}
	}},
}
