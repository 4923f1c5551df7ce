package faults_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// A name is data: one that is called as a command is changes nothing for other names, whatever errors they meet.
func TestANameIsNeverTakenForACommand(t *testing.T) {
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	server.MustDo("RPUSH", "list", "1")
	for _, name := range []string{"UNSUBSCRIBE", "UNSUBSCRIBE\r\n", "*1\r\n$11\r\nUNSUBSCRIBE\r\n", "SUBSCRIBE", "\r\n-ERR x\r\n"} {
		_, _ = e.Semaphore(name).Available(testkit.Soon(t))
		testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex(name)))
	}
	var wg sync.WaitGroup
	for i := range 300 {
		wg.Go(func() {
			if i%10 == 0 {
				_, _ = e.Semaphore("list").Available(testkit.Soon(t)) // WRONGTYPE
			} else if _, err := e.Semaphore("good").Available(testkit.Soon(t)); err != nil {
				t.Errorf("another name: %v", err)
			}
		})
	}
	wg.Wait()
	if made := server.CommandCounts()["hello"]; made > 12 {
		t.Errorf("connections were made %d times", made)
	}
}

// A message is data: one that looks like a reply or a confirmation ends no connection.
func TestAMessageIsNeverTakenForAReply(t *testing.T) {
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	outside := testkit.NewOutsider(t, server.Addr())
	opened := server.CommandCounts()["unsubscribe"]
	outside.Take("first", time.Hour) // somebody waits for it and goes away, so that an UNSUBSCRIBE is sent
	leaves := e.Mutex("first").LockAsync(t.Context())
	redistest.Await(t, "a subscription", func() bool { return server.Subscriptions().Count() == 1 })
	leaves.Cancel()
	outside.Take("second", time.Hour)
	waits := e.Mutex("second").LockAsync(testkit.Soon(t))
	redistest.Await(t, "an UNSUBSCRIBE", func() bool {
		return server.CommandCounts()["unsubscribe"] > opened && slices.Equal(server.Subscriptions().Channels, []string{scripts.LockChannel("second")})
	})
	before := server.CommandCounts()
	for _, text := range []string{"-B", "-BUSY x\r\n", "\r\n-ERR x\r\n", "+PONG\r\n", ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", "*1000000000\r\n", ""} {
		server.MustDo("PUBLISH", scripts.LockChannel("second"), text)
	}
	outside.Free("second")
	server.MustDo("PUBLISH", scripts.LockChannel("second"), "0")
	mustGet(t, waits)
	after := server.CommandCounts()
	if after["subscribe"] != before["subscribe"] {
		t.Errorf("the connection that listens was made anew: %d times subscribed, before %d", after["subscribe"], before["subscribe"])
	}
}
