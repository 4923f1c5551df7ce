package target

// Quorum reaches several servers, each with reach. They are one target: its first server, and the others. If one cannot be reached, those
// reached before are closed, and there is no target.
func Quorum(servers int, reach func(i int) (*Target, error)) (*Target, error) {
	all := make([]*Target, servers)
	for i := range all {
		var err error
		if all[i], err = reach(i); err != nil {
			for _, reached := range all[:i] {
				reached.Close()
			}
			return nil, err
		}
	}
	t := all[0]
	t.Others, t.anyFailed = all[1:], make(chan error, servers)
	for _, server := range all {
		if server.failed != nil {
			go func() { t.anyFailed <- <-server.failed }() // Close ends it, at the latest
		}
	}
	return t, nil
}

// Addresses are those of all servers.
func (t *Target) Addresses() []Address {
	all := []Address{t.Address}
	for _, other := range t.Others {
		all = append(all, other.Address)
	}
	return all
}
