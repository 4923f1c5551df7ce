package target

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"
)

// perScan is how many keys one SCAN looks at: about a third of a millisecond of the server's time.
const perScan = 1000

// Keys lists the keys that have the prefix of a run's names in their own, sorted: a queue or a token has
// something before it. It looks at every key there is, a thousand at a time, but reads and touches none. The
// prefix must have no characters that are special in patterns.
func (t *Target) Keys(ctx context.Context, prefix string) ([]string, error) {
	var keys []string
	for _, node := range t.nodes() {
		for cursor := uint64(0); ; {
			b := node.B()
			page, err := node.Do(ctx, b.Scan().Cursor(cursor).Match("*"+prefix+"*").Count(perScan).Build()).AsScanEntry()
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
	keys, err := t.standing(ctx, slices.Compact(keys)) // replicas and SCAN itself may name a key twice
	for _, other := range t.Others {
		if err == nil {
			var theirs []string
			theirs, err = other.Keys(ctx, prefix)
			keys = append(keys, theirs...)
		}
	}
	return keys, err
}

// standing keeps the keys that stand in a primary now: replicas lag behind.
func (t *Target) standing(ctx context.Context, keys []string) (left []string, err error) {
	err = t.forEach(ctx, "looking at", keys, func(key string) rueidis.Completed { return t.client.B().Exists().Key(key).Build() },
		func(key string, answer rueidis.RedisResult) error {
			n, err := answer.AsInt64()
			if n > 0 {
				left = append(left, key)
			}
			return err
		})
	return left, err
}

// Remove deletes keys that this run made.
func (t *Target) Remove(ctx context.Context, keys []string) error {
	for _, other := range t.Others {
		if err := other.Remove(ctx, keys); err != nil {
			return err
		}
	}
	return t.forEach(ctx, "removing", keys, func(key string) rueidis.Completed { return t.client.B().Del().Key(key).Build() },
		func(_ string, answer rueidis.RedisResult) error { return answer.Error() })
}

// Numbers reads keys that hold numbers; a key that is not there holds 0.
func (t *Target) Numbers(ctx context.Context, keys []string) (numbers map[string]int64, err error) {
	numbers = make(map[string]int64, len(keys))
	err = t.forEach(ctx, "reading", keys, func(key string) rueidis.Completed { return t.client.B().Get().Key(key).Build() },
		func(key string, answer rueidis.RedisResult) error {
			n, err := answer.AsInt64()
			if rueidis.IsRedisNil(err) {
				return nil
			}
			numbers[key] = n
			return err
		})
	return numbers, err
}

// forEach asks the same of each key, many in one round trip.
func (t *Target) forEach(ctx context.Context, doing string, keys []string, ask func(string) rueidis.Completed, hear func(string, rueidis.RedisResult) error) error {
	for some := range slices.Chunk(keys, perScan) {
		commands := make(rueidis.Commands, len(some))
		for i, key := range some {
			commands[i] = ask(key)
		}
		for i, answer := range t.client.DoMulti(ctx, commands...) {
			if err := hear(some[i], answer); err != nil {
				return fmt.Errorf("%s the key %q: %w", doing, some[i], err)
			}
		}
	}
	return nil
}
