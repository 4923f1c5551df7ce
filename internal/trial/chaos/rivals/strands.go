package rivals

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
)

// stranded is what came of waiters whose connections Redis closed when their name became free.
type stranded struct {
	Rival   string
	Rounds  int
	Killed  int // connections
	Failed  int // the waiter was told an error and has to call again
	Long    int // waited for longer than half of the lease, though the name was free
	Waits   spread
	NeverIn int // of Long: not granted within two leases
	Void    int // not counted: the machine stood still
}

// killing closes the connections of a waiter, who has a user of its own in Redis so that they can be told apart.
type killing struct {
	*field
	holder rival

	mu    sync.Mutex // guards the rest
	sum   stranded
	waits []time.Duration
}

// strand has 8 waiters wait n times in all.
func strand(f *field, n int) stranded {
	k := &killing{field: f, holder: f.connect(f.server.Addr())}
	share(8, n, func(w int) func(string, int) {
		user := fmt.Sprintf("waiter%d", w)
		f.server.MustDo("ACL", "SETUSER", user, "on", ">"+user, "~*", "&*", "+@all")
		proxy := redistest.NewProxy(f.t, f.server.Addr())
		proxy.Latency(redistest.Both, oneWay, 0)
		r := f.login(login{proxy.Addr(), user, user, f.lease})
		return func(name string, _ int) { k.one(r, user, name) }
	})
	k.sum.Rival, k.sum.Rounds, k.sum.Waits = f.name, n, spreadOf(k.waits)
	return k.sum
}

// one frees a name for which r waits, and closes r's connections from 10 ms before until 5 ms after.
func (k *killing) one(r rival, user, name string) {
	first := k.mustLock(k.holder, name)
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	type answer struct {
		hold hold
		err  error
		at   time.Time
	}
	answers := make(chan answer, 1)
	go func() { h, err := r.lock(ctx, name); answers <- answer{h, err, time.Now()} }()
	redistest.Await(k.t, "the connection of a waiter", func() bool { // before it has one there is nothing to close
		return len(answers) > 0 || strings.Contains(k.server.MustDo("CLIENT", "LIST").Text, " user="+user+" ")
	})
	time.Sleep(50*time.Millisecond + rand.N(300*time.Millisecond)) // it waits now, at some moment between its tries
	killed := make(chan int64, 1)
	at := time.Now().Add(rand.N(15 * time.Millisecond))
	go func() {
		time.Sleep(time.Until(at))
		killed <- k.server.Do("CLIENT", "KILL", "USER", user).Int
	}()
	time.Sleep(10 * time.Millisecond)
	lost := unlock(first) != nil // which takes a lease without a renewal
	freed := time.Now()
	bound := time.AfterFunc(2*k.lease, cancel)
	got := <-answers
	inTime := bound.Stop()
	if got.err == nil {
		_ = unlock(got.hold)
	}
	wait := max(got.at.Sub(freed), 0)
	void := lost || k.pace.stood(freed) > tolerable

	k.mu.Lock()
	defer k.mu.Unlock()
	k.sum.Killed += int(<-killed)
	switch {
	case void:
		k.sum.Void++
		return
	case got.err != nil && inTime:
		k.sum.Failed++
		return
	case !inTime:
		k.sum.NeverIn++
	}
	if wait > k.lease/2 {
		k.sum.Long++
	}
	k.waits = append(k.waits, wait)
}
