package gate

// early is what a machine asks for when it is woken before its alarm: nothing, for an alarm is the first instant at which time alone
// changes something. What is due before it would wait for another event, or for ever. Only a confirmation ahead of time needs no
// alarm: it is made on the occasion of another event.
func early(m Machine, now Time, fx *Effects) (asked []Op) {
	if now >= m.NextAlarm() {
		return nil
	}
	m.Wake(now, fx)
	for op := range fx.Commands {
		if len(fx.Commands[op]) > 0 && Op(op) != Confirm && Op(op) != ConfirmWrite {
			asked = append(asked, Op(op))
		}
	}
	if len(fx.Subscriptions) > 0 {
		asked = append(asked, None)
	}
	return asked
}
