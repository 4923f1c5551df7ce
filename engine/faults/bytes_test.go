package faults_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
	"github.com/wheellock/wheellock/scripts"
)

// A name is data: one that is called as a command is changes nothing for other names, whatever errors they meet.
func TestANameIsNeverTakenForACommand(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, l := w.Connect()
		w.Take("first", time.Hour) // somebody waits for it and goes away, so that an UNSUBSCRIBE is sent
		leaves := e.Mutex("first").LockAsync(context.Background())
		time.Sleep(time.Second)
		leaves.Cancel()
		w.Take("second", time.Hour)
		waits := e.Mutex("second").LockAsync(context.Background())
		time.Sleep(2 * time.Second)
		if w.Listeners("first") != 0 || w.Listeners("second") != 1 {
			w.T.Fatalf("the engine listens to %q", w.Server.Subscriptions())
		}
		hellos := 0
		w.Server.Hear(func(args []string) {
			if args[0] == "HELLO" {
				hellos++
			}
		})
		for _, text := range []string{"-B", "-BUSY x\r\n", "\r\n-ERR x\r\n", "+PONG\r\n", ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", "*1000000000\r\n", ""} {
			w.Server.Do("PUBLISH", scripts.LockChannel("second"), text)
		}
		w.Free("second")
		w.Server.Do("PUBLISH", scripts.LockChannel("second"), "0")
		mustGet(w.T, waits)
		w.Server.Hear(nil)
		if hellos > 0 || l.Open() == 0 {
			w.T.Errorf("%d connections were made anew", hellos)
		}
		w.Quiet(e, 0, "first")
	})
}
