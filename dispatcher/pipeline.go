package dispatcher

import (
	"github.com/wheellock/wheellock/internal/gate"
)

const (
	// maxBatch is how many names one lane carries at once: its answers are seen only when all are there.
	maxBatch = 512
	// maxNames is how many names one EVALSHA takes: about a quarter of a millisecond of the server's time.
	maxNames = 128
)

// flush sends what the machines asked for: as much as the idle lanes take. What is left over leaves when a
// lane returns; until then mail collects, and that is the batch.
func (d *Dispatcher) flush() {
	d.listen()
	now := d.cfg.Clock.Now()
	if d.link.state != linkUp {
		d.probe(now)
		if d.link.state == linkDown {
			d.bounce(now)
		}
		return
	}
	for len(d.idle) > 0 {
		l := d.idle[len(d.idle)-1]
		d.fill(l)
		if len(l.batch) == 0 {
			return
		}
		d.idle = d.idle[:len(d.idle)-1]
		l.askTime = d.server.stale(now)
		d.cfg.Gate.Stats.Batches.Inc()
		l.work <- struct{}{}
	}
}

// fill moves waiting commands to a lane, renewals first (rule 15).
func (d *Dispatcher) fill(l *lane) {
	l.batch = l.batch[:0]
	for op := range d.fx.Commands {
		queue := &d.fx.Commands[op]
		take := min(len(*queue)-d.heads[op], maxBatch-len(l.batch))
		if take == 0 {
			continue
		}
		from := d.heads[op]
		l.batch = append(l.batch, (*queue)[from:from+take]...)
		d.heads[op] += take
		if d.heads[op] == len(*queue) {
			clear(*queue)
			*queue, d.heads[op] = (*queue)[:0], 0
		}
	}
}

// returned steps the gates with the answers of a lane.
func (d *Dispatcher) returned(l *lane) {
	d.idle = append(d.idle, l)
	now := d.cfg.Clock.Now()
	d.server.take(l)
	if l.probing {
		l.probing = false
		d.probed(now, l.linkErr)
		return
	}
	if l.linkErr != nil {
		d.linkBroke(now, l.linkErr)
	} else if len(l.batch) > 0 {
		d.measure(now - l.batch[0].Sent)
	}
	for i := range l.batch {
		if i%clockStride == 0 {
			now = d.cfg.Clock.Now()
		}
		d.answer(now, &l.batch[i])
	}
	clear(l.batch)
	l.batch = l.batch[:0]
}

func (d *Dispatcher) answer(now gate.Time, c *gate.Command) {
	if millis, late := c.Reply.Late(); late && c.Result == gate.Answered {
		d.server.learn(millis, now)
	}
	cell := c.Cell
	cell.Machine.Answer(now, c, &d.fx)
	d.stepped(cell)
}

// measure smooths the time of a round trip, as TCP does.
func (d *Dispatcher) measure(rtt gate.Time) {
	if d.cfg.Gate.RTT == 0 {
		d.cfg.Gate.RTT = rtt
	}
	d.cfg.Gate.RTT += (rtt - d.cfg.Gate.RTT) / 8
}

// bounce answers what waits to be sent while the link is down. An answer may ask for another command;
// none asks for one that leaves at once, so this ends.
func (d *Dispatcher) bounce(now gate.Time) {
	for op := range d.fx.Commands {
		for d.heads[op] < len(d.fx.Commands[op]) {
			c := d.fx.Commands[op][d.heads[op]]
			d.heads[op]++
			c.Sent, c.Result, c.Reply = now, gate.NotSent, 0
			c.Cell.Machine.Answer(now, &c, &d.fx)
			d.stepped(c.Cell)
		}
		clear(d.fx.Commands[op])
		d.fx.Commands[op], d.heads[op] = d.fx.Commands[op][:0], 0
	}
}
