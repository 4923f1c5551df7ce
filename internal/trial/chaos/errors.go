package chaos

import "time"

// rights are the errors that a phase's faults allow.
type rights struct{ try, lock, unlock classes }

func (p plan) rights() (r rights) {
	for _, f := range p.faults {
		r.try, r.lock, r.unlock = r.try|f.try|f.lock, r.lock|f.lock, r.unlock|f.unlock
	}
	return r
}

// errors checks that callers were told only what the contract allows for the faults that were at work.
func (h *history) errors() {
	may := h.phase.rights()
	for _, c := range h.calls {
		if c.place.Kind == latches {
			if c.denied != 0 {
				h.fail("errors", "%s: counting down gave %v %q", c.name(), c.denied, c.text)
			}
			if c.latch.to != 0 && c.latch.to < c.latch.from {
				h.fail("executions", "%s: the latch let a waiter through before it was counted down", c.name())
			}
			continue
		}
		if wrong := c.denied &^ c.mayBeDenied(may); wrong != 0 {
			h.fail("errors", "%s, a call of way %d, was denied with %v, of which %v is not allowed: %q", c.name(), c.way, c.denied, wrong, c.text)
		}
		mayEnd := may.unlock | isContext
		if c.unlocked&isContext != 0 { // the end of its context
			mayEnd |= isUncertain
		}
		if h.mayBeLost(c) {
			mayEnd |= isLost | isUncertain // Unlock does not wait past the deadline for its answer
		}
		if wrong := (c.unlocked | c.extended) &^ mayEnd; wrong != 0 {
			h.fail("errors", "%s was unlocked with %v, of which %v is not allowed: %q", c.name(), c.unlocked|c.extended, wrong, c.unlockText)
		}
		if c.endedBy&isLost != 0 && may.unlock&isLost == 0 && !h.mayBeLost(c) {
			h.fail("errors", "%s was lost without a reason", c.name())
		}
	}
}

// mayBeDenied are the errors that a call may get. That of a wait says besides what the last answer was.
func (c *hold) mayBeDenied(may rights) classes {
	last := isHeld | may.try
	switch c.way {
	case tried:
		return may.try | isHeld
	case waited:
		if c.denied&isWaitTimeout != 0 { // it says what the last answer was
			return may.try | isWaitTimeout | last
		}
		return may.lock | last
	case ctxEnded, dropped:
		return may.lock | isContext | last
	default:
		return may.lock
	}
}

// mayBeLost reports whether a hold had a reason to end that no fault gave: its own lease was over, or its process
// did not run for so long that it could not be renewed.
func (h *history) mayBeLost(c *hold) bool {
	end := c.unlockAt
	if c.endedAt != 0 {
		end = c.endedAt
	}
	if c.fixed {
		return end >= c.deadline || c.unlockedAt >= c.deadline
	}
	if end.sub(c.grantedAt) >= maxHold-100*time.Millisecond {
		return true
	}
	whole := span{c.grantedAt, end}
	slept := max(whole.shared(h.stalls[c.client]), whole.shared(h.phase.stalls))
	return slept > h.phase.lease/4
}
