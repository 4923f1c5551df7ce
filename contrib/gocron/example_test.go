package wheelcron_test

import (
	"context"
	"fmt"
	"log"

	"github.com/go-co-op/gocron/v2"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"

	wheelcron "github.com/wheellock/wheellock/contrib/gocron"
)

// A job that is scheduled in every process, and run by one of them each time.
func Example() {
	redis := enginetest.Start() // in memory; a program calls engine.Open
	defer redis.Close()
	e, err := redis.Open(context.Background(), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	locker, err := wheelcron.NewLocker(e, wheelcron.LockerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		log.Fatal(err)
	}
	defer scheduler.Shutdown()
	done := make(chan struct{})
	if _, err := scheduler.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()), gocron.NewTask(func() {
		fmt.Println("the report is written")
		close(done)
	}), gocron.WithName("report")); err != nil {
		log.Fatal(err)
	}
	scheduler.Start()
	<-done
	// Output: the report is written
}
