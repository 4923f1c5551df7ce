package target

import (
	"context"
	"fmt"
	"slices"
)

// perScan is how many keys one SCAN looks at: about a third of a millisecond of the server's time.
const perScan = 1000

// Keys lists the keys with a prefix, sorted. It looks at every key there is, a thousand at a time, but reads
// and touches none. The prefix must have no characters that are special in patterns.
func (t *Target) Keys(ctx context.Context, prefix string) ([]string, error) {
	var keys []string
	for _, node := range t.nodes() {
		for cursor := uint64(0); ; {
			b := node.B()
			page, err := node.Do(ctx, b.Scan().Cursor(cursor).Match(prefix+"*").Count(perScan).Build()).AsScanEntry()
			if err != nil {
				return nil, fmt.Errorf("looking for keys left behind: %w", err)
			}
			keys = append(keys, page.Elements...)
			if cursor = page.Cursor; cursor == 0 {
				break
			}
		}
	}
	slices.Sort(keys)
	return t.standing(ctx, slices.Compact(keys)) // replicas and SCAN itself may name a key twice
}

// standing keeps the keys that stand in a primary now: replicas lag behind.
func (t *Target) standing(ctx context.Context, keys []string) (left []string, err error) {
	for _, key := range keys {
		n, err := t.client.Do(ctx, t.client.B().Exists().Key(key).Build()).AsInt64()
		if err != nil {
			return nil, fmt.Errorf("looking at the key %q: %w", key, err)
		}
		if n > 0 {
			left = append(left, key)
		}
	}
	return left, nil
}

// Remove deletes keys that this run made.
func (t *Target) Remove(ctx context.Context, keys []string) error {
	for _, key := range keys {
		if err := t.client.Do(ctx, t.client.B().Del().Key(key).Build()).Error(); err != nil {
			return fmt.Errorf("removing the key %q: %w", key, err)
		}
	}
	return nil
}
