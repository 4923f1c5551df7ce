package wheel

import "time"

// Tick counts lengths of time since the start of a Clock: with a length of 50ms, tick 3 lasts from 150ms to
// 200ms. Parts that exchange ticks share the length.
type Tick int64

// Floor returns the tick that at lies in: the argument of Due for now.
func Floor(at, length time.Duration) Tick {
	tick := at / length
	if at%length < 0 {
		tick--
	}
	return Tick(tick)
}

// Ceil returns the first tick that begins at or after at: the slot for what must not happen before at.
func Ceil(at, length time.Duration) Tick {
	tick := at / length
	if at%length > 0 {
		tick++
	}
	return Tick(tick)
}

// Begin returns when t begins, since the start of the Clock. It overflows where a time.Duration does.
func (t Tick) Begin(length time.Duration) time.Duration {
	return time.Duration(t) * length
}
