package faults_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine/elect"
	"github.com/wheellock/wheellock/internal/virtual"
)

// A server that says twice that a subscription has ended does not end the process that observes an election: who leads is still told.
func TestTheEndOfASubscriptionIsToldTwice(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, l := w.Connect()
		election := elect.New(e, "leads", elect.Options{})
		terms := make(chan int64)
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		go func() {
			for leader := range election.Observe(ctx) {
				terms <- leader.Term
			}
			close(terms)
		}()
		time.Sleep(time.Second)
		if len(w.Server.Subscriptions()) != 1 {
			w.T.Errorf("the observer listens to %q", w.Server.Subscriptions())
		}
		l.Say([]byte(strings.Repeat(">3\r\n$12\r\nsunsubscribe\r\n$1\r\nc\r\n:0\r\n", 2)))
		time.Sleep(time.Second)
		running := make(chan error)
		go func() {
			running <- election.Run(ctx, func(ctx context.Context, term int64) error {
				if told := <-terms; told != term {
					w.T.Errorf("the observer is told of term %d, and it is %d", told, term)
				}
				stop()
				return nil
			})
		}()
		<-running
		for range terms { // the end of Observe
		}
	})
}
