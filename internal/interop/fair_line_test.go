package interop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// TestFairProcessesInOrderWithRedisson has two of our processes and Redisson's threads stand in one queue in turn.
func TestFairProcessesInOrderWithRedisson(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	java := StartRedisson(t, server)
	engines := []*engine.Engine{open(t, server, engine.Options{}), open(t, server, engine.Options{})}
	ctx := context.Background()
	const name, rounds = "stock:7", 5
	held, err := engines[0].FairMutex(name).Lock(ctx)
	testkit.Must(t, err)
	type place struct {
		ours   *futures.Future[*engine.Hold]
		theirs <-chan string
		thread string
	}
	var places []place
	for i := range rounds {
		thread := fmt.Sprint("t", i)
		for n, p := range []func() place{
			func() place { return place{ours: engines[0].FairMutex(name).LockAsync(ctx)} },
			func() place { return place{theirs: java.Start("lock fair %s %s", name, thread), thread: thread} },
			func() place { return place{ours: engines[1].FairMutex(name).LockAsync(ctx)} },
		} {
			places = append(places, p())
			redistest.Await(t, "the next place to be taken", func() bool {
				return server.MustDo("LLEN", scripts.FairQueue(name)).Int == int64(3*i+n+1)
			})
		}
	}
	queue := server.MustDo("LRANGE", scripts.FairQueue(name), "0", "-1").Texts()
	unlock(t, held)
	var served []string
	for _, p := range places {
		if p.ours != nil {
			within, cancel := context.WithTimeout(ctx, byMessage)
			h, err := p.ours.Wait(within)
			cancel()
			if err != nil {
				t.Fatalf("after %d of %d: %v", len(served), len(queue), err)
			}
			served = append(served, h.TenureID())
			unlock(t, h)
			continue
		}
		woken(t, p.theirs, "Redisson's thread "+p.thread)
		served = append(served, java.Do("owner %s", p.thread))
		java.Do("unlock fair %s %s", name, p.thread)
	}
	if !slices.Equal(served, queue) {
		t.Errorf("served\n%s\nwant\n%s", strings.Join(served, "\n"), strings.Join(queue, "\n"))
	}
	redistest.Await(t, "nothing to be left", func() bool {
		return !slices.ContainsFunc(server.Keys(), func(key string) bool {
			return strings.Contains(key, name) && !strings.HasPrefix(key, "redisson_unlock_latch") // Redisson's, it lives for some seconds
		})
	})
}

// TestFairWaiterOfRedissonGivesUp has Redisson take its wait off the deadlines behind it, ours among them.
func TestFairWaiterOfRedissonGivesUp(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	java := StartRedisson(t, server)
	e := open(t, server, engine.Options{})
	ctx := context.Background()
	const name = "stock:7"
	held, err := e.FairMutex(name).Lock(ctx)
	testkit.Must(t, err)
	gaveUp := java.Start("try fair %s t1 700", name)
	redistest.Await(t, "Redisson to wait", func() bool { return server.MustDo("LLEN", scripts.FairQueue(name)).Int == 1 })
	ours := e.FairMutex(name).LockAsync(ctx)
	redistest.Await(t, "ours to wait", func() bool { return server.MustDo("LLEN", scripts.FairQueue(name)).Int == 2 })
	if line := <-gaveUp; line != "ok false" {
		t.Errorf("Redisson's try: %s", line)
	}
	unlock(t, held)
	within, cancel := context.WithTimeout(ctx, byMessage)
	defer cancel()
	h, err := ours.Wait(within)
	testkit.Must(t, err)
	unlock(t, h)
}
