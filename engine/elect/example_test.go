package elect_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/elect"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// campaign works while this process leads.
func campaign(ctx context.Context, election *elect.Election, work func(ctx context.Context, term int64) error) error {
	lead := func(ctx context.Context, term int64) error {
		for ctx.Err() == nil { // ends before anybody else can lead
			if err := work(ctx, term); err != nil { // every write has the term; the store refuses lower ones
				return err // Run gives the leadership up and returns it
			}
		}
		return nil
	}
	return election.Run(ctx, lead) // until ctx ends
}

// Two processes are candidates. The first one leads until it is shut down, then the second one does.
func Example() {
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()

	var processes []context.CancelFunc
	led, ended := make(chan string), make(chan error)
	for _, identity := range []string{"red", "blue"} {
		e, _ := redis.Open(context.Background(), engine.Options{})
		defer e.Close()
		election := elect.New(e, "scheduler", elect.Options{Identity: identity})
		ctx, shutDown := context.WithCancel(context.Background())
		processes = append(processes, shutDown)
		go func() {
			ended <- campaign(ctx, election, func(ctx context.Context, term int64) error {
				leader, err := election.Leader(ctx)
				led <- fmt.Sprintln(identity, "leads; Leader says", leader.Identity, leader.Term == term, err)
				<-ctx.Done()
				return nil
			})
		}()
		if identity == "red" {
			fmt.Print(<-led)
		}
	}
	processes[0]()
	fmt.Print(<-led)
	fmt.Println("red has ended:", errors.Is(<-ended, context.Canceled))
	processes[1]()
	<-ended
	// Output:
	// red leads; Leader says red true <nil>
	// blue leads; Leader says blue true <nil>
	// red has ended: true
}
