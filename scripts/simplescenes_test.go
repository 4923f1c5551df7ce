package scripts_test

import "github.com/wheellock/wheellock/scripts"

// The scenes of simple locks, whose keys are strings.

// simply sets up a simple lock that an owner has.
func simply(owner string) func(*box) {
	return func(b *box) { b.must("SET", one, owner, "PX", "1800000") }
}

// simplyGives is gives, of a simple lock.
func simplyGives(least scripts.Reply, owner string) func(*outcome) {
	return func(o *outcome) {
		o.Helper()
		if o.granted(least) {
			o.want(o.must("GET", one), owner, "answer ", o.reply, ": the value")
			o.lasts(one, hour)
		} else if o.reply != scripts.NotMine {
			o.kept(one)
		}
	}
}

// simplyFrees is frees, of the owner of a simple lock.
func simplyFrees(o *outcome) {
	o.Helper()
	if o.granted(0) || o.reply == scripts.NotMine && o.why != wrongType {
		if value := o.do("GET", one); value == "me:1" {
			o.Errorf("answered %d, and the owner has the lock", o.reply)
		}
	} else if o.reply != scripts.NotMine {
		o.kept(one)
	}
}

// simplyDetached is detached, of a simple lock.
// invariant: detached-name-stays
func simplyDetached(o *outcome) {
	o.Helper()
	if o.before[one].value == "me:1:detached" {
		o.want(o.thing(one).value, "me:1:detached", "the value")
	} else {
		simplyGives(0, "me:1:detached")(o)
	}
}

var simpleScenes = []scene{
	{"acquire simple", scripts.AcquireSimple, nil, names, []any{0, "me:1", hour}, simplyGives(1, "me:1")},
	{"acquire simple again", scripts.AcquireSimple, simply("me:1"), names, []any{0, "me:1", hour}, simplyGives(1, "me:1")},
	{"acquire simple in line", scripts.AcquireSimpleInLine, nil, lineNames[:2], []any{0, "PUBLISH", "me:1", hour, 77, nobody}, simplyGives(1, "me:1")},
	{"acquire simple in line again", scripts.AcquireSimpleInLine, lined(simply("me:1"), "me:1"), lineNames[:2], []any{0, "PUBLISH", "me:1", hour, 77, nobody},
		simplyGives(1, "me:1")},
	{"renew simple", scripts.RenewSimple, simply("me:1"), names, []any{"me:1", hour}, simplyGives(1, "me:1")},
	{"confirm simple", scripts.ConfirmSimple, simply("me:1"), lineNames[:2], []any{"me:1", hour}, simplyGives(0, "me:1")},
	{"adopt simple", scripts.AdoptSimple, simply("java:1"), names, []any{0, "java:1", "me:1", hour}, simplyGives(1, "me:1")},
	{"adopt simple again", scripts.AdoptSimple, simply("me:1"), names, []any{0, "java:1", "me:1", hour}, simplyGives(1, "me:1")},
	{"detach simple", scripts.DetachSimple, simply("me:1"), lineNames[:2], detaching, simplyDetached},
	{"release simple", scripts.ReleaseSimple, simply("me:1"), lineNames[:2], []any{"PUBLISH", "me:1", nobody, 100}, simplyFrees},
	{"release simple to the line", scripts.ReleaseSimple, lined(simply("me:1"), bob+":2"), lineNames[:2], []any{"PUBLISH", "me:1", nobody, 100}, simplyFrees},
	{"release simple from line", scripts.ReleaseSimpleFromLine, lined(simply("me:1"), "me:1"), lineNames[:2], []any{"PUBLISH", "me:1", nobody, 100, 77}, simplyFrees},
}
