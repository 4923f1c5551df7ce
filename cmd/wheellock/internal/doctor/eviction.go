package doctor

// eviction judges whether Redis deletes locks to gain memory.
func eviction(n *node) []Finding {
	limit, policy := n.number("maxmemory"), n.text("maxmemory_policy")
	cure := set("maxmemory-policy", "noeviction")
	switch {
	case policy == "noeviction":
		return nil
	case limit == 0:
		return found(Note, "maxmemory-policy is "+policy+", and there is no maxmemory", "Nothing is evicted until somebody sets maxmemory.", cure)
	}
	return found(Error, "maxmemory-policy is "+policy+", and maxmemory is "+megabytes(limit),
		"When memory is short, Redis deletes the key of a held lock. Another caller then gets the lock while its holder still works.", cure)
}
