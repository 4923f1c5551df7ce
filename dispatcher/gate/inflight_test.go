package gate

// inFlightCommand is a command on its way. What becomes of it is for the test, or the seed, to say.
type inFlightCommand struct {
	Command
	from *process
	left bool // it was sent: Sent stands, and how it is written
	ran  bool // it ran in Redis: Reply stands
	written
}

// send is the connection taking the command, just before it is written.
func (c *inFlightCommand) send() {
	if !c.left {
		c.left = true
		c.written = c.from.world.redis.write(&c.Command, c.from.encoder, c.from.now())
	}
}

// run is its arrival in Redis, in time or long after everybody gave it up.
func (c *inFlightCommand) run() {
	c.send()
	c.from.encoder.Decode(&c.Command, c.from.world.redis.run(c.written))
	c.ran = true
	c.from.world.note("  redis: %v %d of %s for %s: %d", c.Op, c.ID, c.Entry.Name, c.from.uuid, c.Reply)
}

// answer is the answer coming in; the command runs now if it did not before.
func (c *inFlightCommand) answer() {
	if !c.ran {
		c.run()
	}
	c.settle(Answered, "")
}

// settle brings the command back to its machine.
func (c *inFlightCommand) settle(result Result, words string) {
	p := c.from
	for i, other := range p.outbox {
		if other == c {
			p.outbox = append(p.outbox[:i:i], p.outbox[i+1:]...)
			break
		}
	}
	back := c.Command
	back.Result, back.ServerMessage = result, words
	if !back.ran() {
		back.Reply = 0
	}
	p.seen.back(&back)
	p.step(c.Entry, func(m Machine, now Time, fx *Effects) { m.Answer(now, &back, fx) },
		"hears of its %v %d of %s: %s %d", c.Op, c.ID, c.Entry.Name, resultNames[result], back.Reply)
}

var resultNames = [...]string{"answered", "not sent", "again", "denied", "unknown", "alone"}
