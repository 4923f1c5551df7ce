package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// Who holds a lock that another process has: its engine's Identity, which is program@host:pid unless Options say otherwise.
func ExampleEngine_Holder() {
	ctx := context.Background()
	redis := enginetest.Start()
	defer redis.Close()
	theirs, err := redis.Open(ctx, engine.Options{Identity: "billing@eu-1:4711"})
	if err != nil {
		log.Fatal(err)
	}
	defer theirs.Close()
	ours, err := redis.Open(ctx, engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer ours.Close()
	if _, err := theirs.Mutex("invoice:7").Lock(ctx); err != nil {
		log.Fatal(err)
	}

	state, err := ours.Mutex("invoice:7").Inspect(ctx)
	if err != nil {
		log.Fatal(err)
	}
	who, err := ours.Holder(ctx, state.Owner)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(state.Kind, "held by", who.Identity)
	// Output: mutex held by billing@eu-1:4711
}
