package target

import "context"

// Connect uses the Redis that url names.
func Connect(ctx context.Context, url string) (*Target, error) {
	t := &Target{Kind: Given, Address: Address{URL: url}}
	if err := t.connect(ctx); err != nil {
		return nil, err
	}
	return t, nil
}
