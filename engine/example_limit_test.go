package engine_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// A tenant may have two reports made at once, and the database makes three for all. A report needs a place in both limits. Nobody sets them up.
func ExampleEngine_Limit() {
	ctx := context.Background()
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	e, _ := redis.Open(ctx, engine.Options{})
	defer e.Close()

	report := func(tenant string) (*engine.Hold, error) {
		both, err := engine.Multi(e.Limit("tenant:"+tenant, 2), e.Limit("database", 3))
		if err != nil {
			return nil, err
		}
		return both.TryLock(ctx) // Lock waits
	}
	for _, tenant := range []string{"acme", "acme", "acme", "other", "other"} {
		_, err := report(tenant)
		fmt.Println(tenant, "at a limit:", errors.Is(err, engine.ErrHeld))
	}
	large, err := e.Limit("database", 10).Of(5).Lock(ctx) // the database has grown: the next call says so
	fmt.Println("a report that counts as five:", len(large.PermitIDs()), err)
	// Output:
	// acme at a limit: false
	// acme at a limit: false
	// acme at a limit: true
	// other at a limit: false
	// other at a limit: true
	// a report that counts as five: 5 <nil>
}
