package faults_test

import (
	"context"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/engine/elect"
	"github.com/wheellock/wheellock/internal/redistest"
)

// A server that says twice that a subscription has ended does not end the process that observes an election: who leads is still told.
func TestTheEndOfASubscriptionIsToldTwice(t *testing.T) {
	t.Parallel()
	t.Run("apart", apart(func(t *testing.T) {
		h := &hostility{T: t, server: redistest.Start(t)}
		s, e := h.open()
		election := elect.New(e, "leads", elect.Options{})
		terms := make(chan int64)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			for leader := range election.Observe(ctx) {
				terms <- leader.Term
			}
			close(terms)
		}()
		redistest.Await(t, "a subscription", s.listens)
		s.say([]byte(strings.Repeat(">3\r\n$12\r\nsunsubscribe\r\n$1\r\nc\r\n:0\r\n", 2)))
		h.works(e, "the end of a subscription, twice")
		running := make(chan error)
		go func() {
			running <- election.Run(ctx, func(ctx context.Context, term int64) error {
				if told := <-terms; told != term {
					t.Errorf("the observer is told of term %d, and it is %d", told, term)
				}
				stop()
				return nil
			})
		}()
		<-running
		for range terms { // the end of Observe
		}
	}))
}
