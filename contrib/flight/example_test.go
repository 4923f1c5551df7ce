package flight_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/contrib/flight"
	"github.com/wheellock/wheellock/engine"
)

// The second call finds what the first has computed, also in another process.
func Example() {
	ctx := context.Background()
	redis := rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}}
	e, err := engine.Open(ctx, engine.Options{Redis: redis})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	client, err := rueidis.NewClient(redis)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	pages, err := flight.New(e, client, flight.Options{Keep: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		page, shared, err := pages.Do(ctx, "page:/", func(context.Context) ([]byte, error) {
			fmt.Println("rendering")
			return []byte("<h1>hello</h1>"), nil
		})
		fmt.Println(string(page), shared, err)
	}
	// rendering
	// <h1>hello</h1> false <nil>
	// <h1>hello</h1> true <nil>
}
