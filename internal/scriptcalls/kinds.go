package scriptcalls

import (
	"strconv"
	"strings"

	"github.com/wheellock/wheellock/scripts"
)

// The calls of each kind of lock and counter.

// each gives every name its keys and arguments, and what comes behind them all.
func (c *Caller) each(names []string, give func(name string), behind ...func()) {
	for _, name := range names {
		give(name)
	}
	for _, more := range behind {
		more()
	}
}

// leasesBehind gives one lease for all names, or one for each.
func (c *Caller) leasesBehind(names []string) func() {
	return func() {
		c.lease()
		if c.IntN(2) == 0 {
			for range names[1:] {
				c.lease()
			}
		}
	}
}

func (c *Caller) pick(among ...scripts.Script) string {
	c.Script = among[c.IntN(len(among))]
	return c.Script.Name
}

func (c *Caller) mutex(names []string) {
	channel := scripts.LockChannel
	line := func(name string) string { // mostly
		return c.One(name, scripts.LineKey(name), scripts.LineKey(name), scripts.LineKey(name))
	}
	switch c.pick(scripts.Acquire, scripts.Acquire, scripts.AcquireInLine, scripts.AcquireInLine, scripts.AcquireInLine, scripts.Release, scripts.Release, scripts.ReleaseFromLine, scripts.Renew, scripts.Confirm, scripts.Inspect,
		scripts.Detach, scripts.Detach, scripts.Adopt, scripts.Adopt, scripts.CountWaiters) {
	case "acquire":
		c.until()
		c.each(names, func(name string) { c.key(name).arg(c.Owner()) }, c.leasesBehind(names))
	case "renew":
		c.each(names, func(name string) { c.key(name).arg(c.holder(name)) }, c.leasesBehind(names))
	case "confirm":
		c.how().each(names, func(name string) { c.key(name, line(name)).arg(c.holder(name)).lease().arg(channel(name)) })
	case "detach":
		c.how().each(names, func(name string) {
			owner := c.holder(name)
			c.key(name, c.One(line(name), scripts.FairQueue(name))).arg(owner, owner+":detached").lease().arg(c.One("", channel(name)))
		})
	case "adopt":
		c.until().arg("64", c.One("0", "86400000"))
		c.each(names, func(name string) {
			c.key(name, c.One(name, scripts.TokenKey(name))).arg(c.One(c.holder(name), c.holder(name)+":detached"), c.Owner()).lease()
		})
	case "count_waiters":
		c.how().each(names, func(name string) {
			c.key(name, c.One(line(name), scripts.FairQueue(name))).arg(c.One(channel(name), channel(name), ""))
		})
	case "release":
		c.arg(c.or("PUBLISH", "PUBLISH", "PUBLISH", "NONE", "BOTH")).each(names, func(name string) { c.key(name, line(name)).arg(c.holder(name), channel(name)) })
	case "acquire_in_line":
		c.until().arg("64", c.One("0", "86400000")).how()
		c.each(names, func(name string) {
			owner := c.inLine(name)
			c.key(name, line(name), c.One(name, scripts.TokenKey(name))).arg(owner).lease().arg(c.code(name, owner))
		})
	case "release_from_line":
		c.how().each(names, func(name string) {
			owner := c.One(c.holder(name), c.inLine(name))
			c.key(name, line(name)).arg(owner, channel(name), c.code(name, owner))
		})
	default:
		c.key(names[0], scripts.TokenKey(names[0]))
	}
}

// simpleOwner is an owner of a simple lock; with a salt of no engine it is another's.
func (c *Caller) simpleOwner() string { return c.Owner() + c.One(":r4nd0m", ":r4nd0m", "'s") }

// simpleHolder is mostly the owner that has the simple lock, if one has.
func (c *Caller) simpleHolder(name string) string {
	if text, is := c.Stands.Text(name); is && c.IntN(4) > 0 {
		return text
	}
	return c.simpleOwner()
}

func (c *Caller) simple(names []string) {
	channel := scripts.LockChannel
	line := func(name string) string { // mostly
		return c.One(name, scripts.LineKey(name), scripts.LineKey(name), scripts.LineKey(name))
	}
	turn := func() string { return c.or("0", "0", "50", "100", "5000", "") }
	switch c.pick(scripts.AcquireSimple, scripts.AcquireSimple, scripts.AcquireSimpleInLine, scripts.AcquireSimpleInLine, scripts.AcquireSimpleInLine, scripts.RenewSimple,
		scripts.ConfirmSimple, scripts.ReleaseSimple, scripts.ReleaseSimple, scripts.ReleaseSimpleFromLine, scripts.AdoptSimple, scripts.DetachSimple, scripts.InspectSimple, scripts.Peek) {
	case "acquire_simple":
		c.until()
		c.each(names, func(name string) { c.key(name).arg(c.simpleOwner()).lease() })
	case "acquire_simple_in_line":
		c.until().how()
		c.each(names, func(name string) {
			owner := c.One(c.inLine(name), c.simpleOwner())
			c.key(name, line(name)).arg(owner).lease().arg(c.code(name, owner), channel(name))
		})
	case "renew_simple":
		c.each(names, func(name string) { c.key(name).arg(c.simpleHolder(name)) }, c.leasesBehind(names))
	case "confirm_simple":
		c.each(names, func(name string) { c.key(name, line(name)).arg(c.simpleHolder(name)).lease() })
	case "release_simple":
		c.how().each(names, func(name string) { c.key(name, line(name)).arg(c.simpleHolder(name), channel(name), turn()) })
	case "release_simple_from_line":
		c.how().each(names, func(name string) {
			owner := c.One(c.simpleHolder(name), c.inLine(name))
			c.key(name, line(name)).arg(owner, channel(name), turn(), c.code(name, owner))
		})
	case "adopt_simple":
		c.until()
		c.each(names, func(name string) { c.key(name).arg(c.simpleHolder(name), c.simpleOwner()).lease() })
	case "detach_simple":
		c.how().each(names, func(name string) {
			owner := strings.TrimSuffix(c.simpleHolder(name), ":detached")
			c.key(name, line(name)).arg(owner, owner+":detached").lease().arg(channel(name))
		})
	case "inspect_simple":
		c.key(names[0])
	default:
		c.each(names, func(name string) { c.key(name) })
	}
}

func (c *Caller) fenced(names []string) {
	switch c.IntN(6) {
	case 0, 1, 2:
		c.mutex(names)
		return
	case 3:
		c.election(names[0])
		return
	}
	c.Script = scripts.AcquireFenced
	c.until().arg("64", c.or("86400000", "0", "86400000", "1000"))
	c.each(names, func(name string) { c.key(name, scripts.TokenKey(name)).arg(c.Owner()).lease() })
}

// election asks who leads, or has the holder of the lock note that it leads, or leads no more.
func (c *Caller) election(name string) {
	c.Script = scripts.Leader
	c.key(name, scripts.LeaderKey(name))
	if c.IntN(3) > 0 {
		c.how().arg(scripts.LeaderChannel(name), c.holder(name), c.One("1", "2", "7"), c.One("red", "blue", ""))
	}
}

func (c *Caller) readWrite(names []string) {
	channel := scripts.RWChannel
	line := func(name string) string { return c.One(name, scripts.LineKey(name), scripts.LineKey(name)) }
	switch c.pick(scripts.AcquireRead, scripts.AcquireRead, scripts.AcquireWrite, scripts.AcquireWriteInLine, scripts.ReleaseRead, scripts.ReleaseRead, scripts.ReleaseReadFromLine,
		scripts.ReleaseWrite, scripts.ReleaseWriteFromLine, scripts.RenewRead, scripts.ConfirmRead, scripts.Downgrade, scripts.Renew, scripts.Confirm) {
	case "acquire_read":
		c.until().how().each(names, func(name string) {
			owner := c.Owner()
			c.key(name, line(name), scripts.HoldKey(name, owner)).arg(owner).lease().arg(c.One("", "1", "77"))
		})
	case "acquire_write":
		c.until().each(names, func(name string) { c.key(name).arg(c.Owner() + ":write").lease() })
	case "acquire_write_in_line":
		c.until().how().each(names, func(name string) {
			c.key(name, line(name)).arg(c.Owner() + ":write").lease().arg(c.One("77", "1"))
		})
	case "release_read", "release_read_from_line":
		c.how().arg(c.One("0", "0", "0", "1")).each(names, func(name string) {
			owner := c.holder(name)
			c.key(name, line(name), scripts.HoldKey(name, owner)).arg(owner, channel(name))
			if c.Script.Name == scripts.ReleaseReadFromLine.Name {
				c.arg("77")
			}
		})
	case "release_write", "release_write_from_line":
		c.how().each(names, func(name string) {
			c.key(name, line(name)).arg(c.holder(name)+":write", channel(name))
			if c.Script.Name == scripts.ReleaseWriteFromLine.Name {
				c.arg(c.One("77", "1"))
			}
		})
	case "renew_read":
		c.each(names, func(name string) { owner := c.holder(name); c.key(name, scripts.HoldKey(name, owner)).arg(owner) }, c.leasesBehind(names))
	case "confirm_read":
		c.how().each(names, func(name string) {
			owner := c.holder(name)
			c.key(name, line(name), scripts.HoldKey(name, owner)).arg(owner).lease().arg(channel(name))
		})
	case "downgrade":
		c.how().each(names, func(name string) {
			owner := c.holder(name)
			c.key(name, line(name), scripts.HoldKey(name, owner)).arg(owner+":write", owner).lease().arg(channel(name))
		})
	case "renew":
		c.each(names, func(name string) { c.key(name).arg(c.holder(name) + ":write") }, c.leasesBehind(names))
	default:
		c.how().each(names, func(name string) { c.key(name, name).arg(c.holder(name) + ":write").lease().arg(channel(name)) })
	}
}

func (c *Caller) fair(names []string) {
	number := func() string { return strconv.Itoa(c.IntN(5)) }
	keys := func(name string) {
		c.key(name, scripts.FairQueue(name), scripts.FairDeadlines(name), scripts.FairAlive(name), scripts.ClaimsKey(name))
	}
	switch c.pick(scripts.FairAsk, scripts.FairAsk, scripts.FairAsk, scripts.FairRelease, scripts.FairLeave) {
	case "fair_ask":
		c.arg(c.notAfter([]string{"9000000000000", "9000000000000", "1"}, 0), c.Engine, c.or("3600000", "1", "1500", "60000", "3600000")).how()
		c.each(names, func(name string) {
			keys(name)
			c.arg(number(), c.One("TRY", "NEW", "OLD")).lease().arg(number(), number(), scripts.LockChannel(name), c.One("0", "77", "7900000000000000178"))
		})
	case "fair_release":
		c.how().arg(c.Engine).each(names, func(name string) {
			keys(name)
			c.arg(c.holder(name), number()).lease().arg(scripts.LockChannel(name))
		})
	default:
		c.how().arg(c.Engine).each(names, func(name string) {
			keys(name)
			c.arg(number(), number(), scripts.LockChannel(name))
		})
	}
}

func (c *Caller) counting(names []string, channel func(string) string, among ...scripts.Script) {
	receipt := func(name string) string { return scripts.ReceiptKey(name, c.Engine) }
	switch c.pick(among...) {
	case "look":
		c.each(names, func(name string) { c.key(name) })
	case "count":
		c.key(names[0])
	case "take":
		c.how().until().arg(c.Engine).each(names, func(name string) {
			c.key(name, receipt(name), scripts.LineKey(name)).fresh()
			c.arg(c.One("0", "1"), c.One("1x1", "2x3,1x2", "9x1", "1x3", ""), c.One("0", "1", "2"), c.One("0", "1"), channel(name))
		})
	default:
		c.how().until().each(names, func(name string) {
			n := 1 + c.IntN(5)
			if strings.Contains(c.Script.Name, "add") && c.IntN(2) == 0 {
				n = -n
			}
			by := strconv.Itoa(n)
			if c.Script.Name == scripts.SetPermits.Name {
				by += c.or(",3600000", "", ",1", ",60000")
			}
			if c.key(name); c.Script.Name == scripts.PermitSet.Name || c.Script.Name == scripts.PermitDelete.Name {
				c.key(scripts.PermitsKey(name))
			}
			c.key(receipt(name))
			switch c.Script.Name {
			case "give", "add_permits", "set_permits", "permit_add", "permit_set":
				c.key(scripts.LineKey(name))
			}
			c.fresh().arg(by, channel(name))
		})
	}
}

func (c *Caller) permits(names []string) {
	receipt := func(name string) string { return scripts.ReceiptKey(name, c.Engine) }
	held, channel, half := scripts.PermitsKey, scripts.SemaphoreChannel, scripts.PermitBytes(c.Engine)
	switch c.pick(scripts.SetPermits, scripts.PermitAdd, scripts.PermitSet, scripts.PermitDelete, scripts.PermitTake, scripts.PermitTake, scripts.PermitTake, scripts.PermitRenew, scripts.PermitFree, scripts.PermitFree, scripts.PermitCount) {
	case "permit_take":
		c.how().until().arg(half, c.Engine).each(names, func(name string) {
			c.key(name, held(name), receipt(name), scripts.LineKey(name)).fresh()
			lease := c.or("x60000,", "x1,", "x2000,", "x7200000,")
			runs := c.One("", "1x1"+lease, "2x1"+lease+"1x2"+lease, "1x3"+lease, "3x1x60000,1x1"+lease)
			if runs != "" {
				runs += c.or("", "", "/3", "/1", "/9")
			}
			c.arg(c.One("0", "1"), runs, c.One("0", "1", "2"), c.One("0", "1"), channel(name))
		})
	case "permit_renew":
		c.arg(half).each(names, func(name string) {
			lease := c.or("7200000", "1", "2000", "7200000")
			c.key(held(name)).arg(c.held(name) + ",1," + lease + ";" + strconv.FormatUint(c.Calls, 10) + ",2," + lease + ";")
		})
	case "permit_free":
		c.how().until().arg(half).each(names, func(name string) {
			holds, ids := "", ""
			if c.IntN(3) > 0 {
				for range 1 + c.IntN(2) {
					holds += c.held(name) + c.One(",1,0;", ",2,0;")
				}
			} else { // by their ids, whoever has them
				for range 1 + c.IntN(2) {
					ids += c.One(append(c.Stands.Parts(held(name), "zset"), "0123456789abcdef")...)
				}
			}
			c.key(name, held(name), receipt(name), scripts.LineKey(name)).fresh().arg(holds, ids, channel(name))
		})
	case "permit_count":
		c.how().key(names[0], held(names[0])).arg(channel(names[0]))
	default:
		c.counting(names, channel, c.Script)
	}
}
