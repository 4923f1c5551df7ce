package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// started is an engine on a server of its own. In a test, enginetest.New(t, options) does the same and closes both.
func started() (e *engine.Engine, redis *enginetest.Server, stop func()) {
	redis = enginetest.Start()
	e, err := redis.Open(context.Background(), engine.Options{})
	if err != nil {
		panic(err)
	}
	return e, redis, func() {
		e.Close()
		redis.Close()
	}
}

// Another program has the lock, gives it back, and the code under test goes on.
func ExampleServer_Occupy() {
	e, redis, stop := started()
	defer stop()
	ctx := context.Background()

	vacate, err := redis.Occupy("accounts:monday", time.Minute)
	fmt.Println("occupied:", err)
	fmt.Println("beside a program elsewhere:", settle(ctx, e, "monday", nil))

	waits := e.Mutex("accounts:monday").LockAsync(ctx)
	vacate()
	hold, err := waits.Wait(ctx)
	fmt.Println("when it has gone:", hold.Name(), err)
	// Output:
	// occupied: <nil>
	// beside a program elsewhere: another process is at it
	// when it has gone: accounts:monday <nil>
}

// One call fails: what comes after it shows whether the code under test can go on.
func ExampleServer_FailNext() {
	e, redis, stop := started()
	defer stop()
	ctx := context.Background()

	for _, failure := range []enginetest.CallFailure{enginetest.OutOfMemory, enginetest.NoPermission, enginetest.LostAnswer} {
		redis.FailNext("stock:7", failure)
		_, err := e.Mutex("stock:7").TryLock(ctx)
		fmt.Printf("%v: refused %t, uncertain %t\n", failure, errors.Is(err, engine.ErrRefused), errors.Is(err, engine.ErrUncertain))
	}

	redis.FailNext("stock:7", enginetest.LostAnswer)
	hold, err := e.Mutex("stock:7").Lock(ctx) // asks again
	fmt.Println("Lock:", err)
	redis.FailNextUnlock("stock:7", enginetest.LostAnswer)
	fmt.Println("Unlock:", hold.Unlock(ctx)) // is repeated
	fmt.Println("left behind:", redis.Keys())
	// Output:
	// OOM: refused true, uncertain false
	// NOPERM: refused true, uncertain false
	// lost answer: refused false, uncertain true
	// Lock: <nil>
	// Unlock: <nil>
	// left behind: []
}

// A slow Redis: code with a deadline shows whether it keeps it.
func ExampleServer_SetLatency() {
	e, redis, stop := started()
	defer stop()

	redis.SetLatency(200 * time.Millisecond)
	began := time.Now()
	hold, err := e.Mutex("stock:7").Lock(context.Background())
	fmt.Println("without a deadline:", err, time.Since(began) >= 200*time.Millisecond)
	hold.UnlockAsync()

	hurried, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = e.Mutex("stock:8").Lock(hurried)
	fmt.Println("with one:", errors.Is(err, context.DeadlineExceeded))
	redis.SetLatency(0)
	// Output:
	// without a deadline: <nil> true
	// with one: true
}

// Redis cannot be reached for a while.
func ExampleServer_SetDown() {
	e, redis, stop := started()
	defer stop()
	ctx := context.Background()

	redis.SetDown(true)
	_, err := e.Mutex("stock:7").TryLock(ctx)
	fmt.Println("down:", errors.Is(err, engine.ErrUnavailable))

	redis.SetDown(false)
	_, err = e.Mutex("stock:7").Lock(ctx)
	fmt.Println("up again:", err)
	// Output:
	// down: true
	// up again: <nil>
}
