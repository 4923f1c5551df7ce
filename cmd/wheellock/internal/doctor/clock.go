package doctor

import (
	"fmt"
	"math"
	"time"
)

// clock judges the server's clock: whether it runs evenly, and how far it is from ours.
func clock(n *node) []Finding {
	samples := n.samples()
	if n.err != nil {
		return nil
	}
	var f findings
	if step := stepOf(samples); step > 0 {
		f.add(Error, fmt.Sprintf("the clocks of the server and of this machine moved apart by %v within %v", round(step), round(samples[len(samples)-1].read)),
			"A step of the server's clock forward ends leases early: two holders. A step back keeps the locks of dead processes for longer.",
			"have the clock of the server's machine slewed and never stepped (chrony: no makestep)")
	}
	first := samples[0]
	apart := first.server - n.wall - (first.sent+first.read)/2
	if off := apart.Abs() - (first.read-first.sent)/2; off >= time.Second {
		f.add(Note, fmt.Sprintf("the server's clock and ours are %v apart", round(off)),
			"Engines do not compare them, but Redisson's fair locks do. If somebody corrects the server's clock by a step, leases end early.",
			"synchronise both machines by NTP")
	}
	return f
}

// stepOf is how far the server's clock moved against ours, at the least; 0: perhaps not at all. The server read its clock between
// the sending and the reading of each sample, which bounds the distance of the clocks. If no distance fits all samples, a clock has
// moved. Clocks may differ by 1 % in speed.
func stepOf(samples []sample) time.Duration {
	least, most := time.Duration(math.MinInt64), time.Duration(math.MaxInt64)
	for _, s := range samples {
		least, most = max(least, s.server-s.read), min(most, s.server-s.sent)
	}
	return max(0, least-most-samples[len(samples)-1].read/100)
}

// round leaves three digits.
func round(d time.Duration) time.Duration {
	unit := time.Nanosecond
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
