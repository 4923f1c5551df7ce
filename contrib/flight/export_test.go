package flight

// Callers is how many callers of this process share the call of a key.
func (g *Group) Callers(key string) int {
	g.local.mu.Lock()
	defer g.local.mu.Unlock()
	if c := g.local.live[key]; c != nil {
		return c.callers
	}
	return 0
}
