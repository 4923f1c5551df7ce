package scripts_test

import (
	"strings"

	"github.com/wheellock/wheellock/scripts"
)

// The scenes and calls of simple locks, whose keys are strings.

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

// simpleOwner is an owner of this engine, or one that no engine has.
func (c *call) simpleOwner() string {
	return c.owner() + oneOf(c.duel, []string{":r4nd0m", ":r4nd0m", "'s"})
}

// simpleHolder is mostly the owner that has the lock, if one has.
func (c *call) simpleHolder(name string) string {
	if c.IntN(4) == 0 || c.real.do("TYPE", name) != "string" {
		return c.simpleOwner()
	}
	return c.real.must("GET", name)
}

// simple is a call about simple locks.
func (c *call) simple() []string {
	channel := scripts.LockChannel
	c.script = oneOf(c.duel, []scripts.Script{
		scripts.AcquireSimple, scripts.AcquireSimple, scripts.AcquireSimpleInLine, scripts.AcquireSimpleInLine, scripts.AcquireSimpleInLine, scripts.RenewSimple,
		scripts.ConfirmSimple, scripts.ReleaseSimple, scripts.ReleaseSimpleFromLine, scripts.AdoptSimple, scripts.DetachSimple, scripts.InspectSimple, scripts.Peek,
	})
	switch c.script.Name {
	case "acquire_simple":
		c.until()
		return c.each(func(name string) { c.key(name).arg(c.simpleOwner()).lease() })
	case "acquire_simple_in_line":
		c.until().arg("PUBLISH")
		return c.each(func(name string) {
			c.key(name, c.line(name)).arg(c.simpleOwner()).lease().arg(oneOf(c.duel, []string{"7777777777", "-7777777777"}), channel(name))
		})
	case "renew_simple":
		return c.each(func(name string) { c.key(name).arg(c.simpleHolder(name)) }, c.leasesBehind)
	case "confirm_simple":
		return c.each(func(name string) { c.key(name, c.line(name)).arg(c.simpleHolder(name)).lease() })
	case "adopt_simple":
		c.until()
		return c.each(func(name string) { c.key(name).arg(c.simpleHolder(name), c.simpleOwner()).lease() })
	case "detach_simple":
		c.arg("PUBLISH")
		return c.each(func(name string) {
			owner := strings.TrimSuffix(c.simpleHolder(name), ":detached")
			c.key(name, c.line(name)).arg(owner, owner+":detached").lease().arg(channel(name))
		})
	case "inspect_simple":
		c.names = c.names[:1]
		fallthrough
	case "peek":
		return c.each(func(name string) { c.key(name) })
	}
	leaves := c.script.Name == scripts.ReleaseSimpleFromLine.Name
	c.arg("PUBLISH")
	return c.each(func(name string) {
		c.key(name, c.line(name)).arg(c.simpleHolder(name), channel(name), oneOf(c.duel, []string{"0", "100", "3600000"}))
		if leaves {
			c.arg("7777777777")
		}
	})
}
