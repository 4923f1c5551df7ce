package rivals

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// deleted is what came of holders whose key an operator deleted.
type deleted struct {
	Rival   string
	Rounds  int
	Never   int // not told within two leases
	Void    int // not counted: the machine stood still
	Noticed spread
}

// deleteKeys lets n holders hold, and deletes their keys, each at some moment between renewals.
func deleteKeys(f *field, n int) deleted {
	r := f.connect(f.server.Addr())
	var mu sync.Mutex // guards the next two
	var noticed []time.Duration
	sum := deleted{Rival: f.name, Rounds: n}
	var holders sync.WaitGroup
	for i := range n {
		holders.Go(func() {
			name := fmt.Sprintf("order:%d", i)
			h := f.mustLock(r, name)
			when := told(h)
			time.Sleep(rand.N(f.lease / 2))
			began := time.Now()
			there := f.server.Do("DEL", r.key(name)).Int == 1
			at, ok := within(2*f.lease, when)
			void := !there || f.pace.stood(began) > tolerable
			_ = unlock(h)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case void:
				sum.Void++
			case ok:
				noticed = append(noticed, at.Sub(began))
			default:
				sum.Never++
			}
		})
	}
	holders.Wait()
	sum.Noticed = spreadOf(noticed)
	return sum
}
