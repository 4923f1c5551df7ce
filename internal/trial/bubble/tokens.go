package bubble

// token is the highest fencing token that a caller has.
func (l *tally) token() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.highest
}

// tokenAfter judges that a token is higher than those that had been given when it was asked for. Holds of one tenure are numbered,
// too; an Owner who enters again keeps his.
func (l *tally) tokenAfter(c *caller, one *held, before int64) {
	token, fenced := one.h.Token()
	if !fenced || c.w.judge.spared(one) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if token < before {
		c.w.violation("tokens", "%v: token %d of %s after %d", c, token, one.h.Name(), before)
	}
	l.highest = max(l.highest, token)
}
