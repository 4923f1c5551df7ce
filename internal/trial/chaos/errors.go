package chaos

// unexplained are errors that no fault here gives anybody.
const unexplained = isInvalid | isForeign | isDeadlock | isClosed | isOther

// errors checks that nobody was told one of them.
func (h *history) errors() {
	for _, c := range h.calls {
		if wrong := (c.denied | c.unlocked | c.extended) & unexplained; wrong != 0 {
			h.fail("errors", "%s was told %q, %q", c.name(), c.text, c.unlockText)
		}
	}
}
