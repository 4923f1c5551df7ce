package bubble

import "sync"

// doomed are owner ids that stood in Redis while somebody forced a lock. It has a mutex of its own, for a server that is locked adds
// to it.
type doomed struct {
	mu  sync.Mutex // guards the rest
	ids []string
}

func (d *doomed) add(ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids = append(d.ids, ids...)
}

// take empties it.
func (d *doomed) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids := d.ids
	d.ids = nil
	return ids
}
