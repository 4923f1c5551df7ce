package chaos

import (
	"bufio"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// settingVariable carries a client's setting to it; a process that has it is a client.
const settingVariable = "WHEELLOCK_CHAOS_CLIENT"

// maxHold ends what its holder has forgotten.
const maxHold = 3 * time.Second

// recordsFD is the pipe for records in a client.
const recordsFD = 3

// client is one process that uses the engine.
type client struct {
	setting
	e       *engine.Engine
	records *gob.Encoder // any goroutine
	calls   atomic.Uint32
	tally   tally
	resting context.Context // ends when no further call is to be made
}

// RunClient is a client process, from its start to its end. It says whether this process is one.
func RunClient() (isClient bool, exitCode int) {
	text, isClient := os.LookupEnv(settingVariable)
	if !isClient {
		return false, 0
	}
	c := &client{records: gob.NewEncoder(os.NewFile(recordsFD, "records"))}
	if err := c.run(text); err != nil {
		fmt.Fprintf(os.Stderr, "client %d: %v\n", c.Number, err)
		return true, 1
	}
	return true, 0
}

// leakOrder is a line on a client's standard input.
const leakOrder = "leak"

// run works until it is told to rest, and lives until it is told to close, by empty lines on its standard input. When
// its parent dies that ends, and so does the client.
func (c *client) run(text string) error {
	if err := json.Unmarshal([]byte(text), &c.setting); err != nil {
		return err
	}
	resting, rest := context.WithCancel(context.Background())
	defer rest()
	c.resting = resting
	orders := make(chan struct{})
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			if lines.Text() == leakOrder {
				c.leak()
				continue
			}
			orders <- struct{}{}
		}
		close(orders)
	}()
	if err := c.open(); err != nil {
		return err
	}
	var working, pacing sync.WaitGroup
	paced, stopPace := context.WithCancel(context.Background())
	beat := paceBeat
	if c.Hot {
		beat *= 5 // what the engine takes is measured, and a beat takes a little, too
	}
	pacing.Go(func() { pace(paced, beat, c.tell) })
	if c.Sample > 0 {
		pacing.Go(func() { c.sample(paced) })
	}
	for i := range c.Workers {
		working.Go(func() { c.work(i) })
	}
	_, told := <-orders
	rest()
	if told {
		working.Wait()
		c.report()
		_, told = <-orders
	}
	stopPace()
	pacing.Wait()
	if !told {
		os.Exit(2) // orphaned
	}
	return c.close(orders)
}

func (c *client) open() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c.e, err = openUntil(ctx, engine.Options{Redis: rueidis.ClientOption{InitAddress: []string{c.Addr}}, Lease: c.Lease, FairWaiterLease: shortLease, MaxHold: maxHold})
	return err
}

// openUntil opens an engine although something may be broken already, until ctx ends.
func openUntil(ctx context.Context, o engine.Options) (*engine.Engine, error) {
	for {
		e, err := engine.Open(ctx, o)
		if err == nil || ctx.Err() != nil {
			return e, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// report says, until nothing is left, what the engine believes to have once all workers have stopped.
func (c *client) report() {
	for looks := 0; ; looks++ {
		s := c.e.Stats()
		left := int(s.Held + s.Waiting)
		if left == 0 || looks == 2000 { // ten seconds of a process that runs
			c.tell(record{What: rested, At: now(), N: int32(left)})
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// close ends the engine and looks for goroutines that it left.
func (c *client) close(orders <-chan struct{}) error {
	if err := c.e.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	for range orders { // until the parent hangs up, and the reader with it
	}
	return goleak.Find(testkit.NotOurs...)
}

// tell says something, at once and in one piece; in a soak only what has to be known.
func (c *client) tell(r record) {
	if c.Sample > 0 && c.tally.takes(r) {
		return
	}
	if c.records.Encode(&r) != nil {
		os.Exit(3) // nobody listens any more
	}
}

// number makes the number of a call.
func (c *client) number() uint32 { return c.calls.Add(1) }

// paceBeat is how often a process looks whether it runs.
const paceBeat = 2 * time.Millisecond

// lateTick is how late a tick may come before the process counts as stalled.
const lateTick = 5 * time.Millisecond

// pace says when this process, or the machine, did not run, until ctx ends.
func pace(ctx context.Context, beat time.Duration, tell func(record)) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for last := now(); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		at := now()
		if at.sub(last) > beat+lateTick {
			tell(record{What: stalled, At: last, Until: at})
		}
		last = at
	}
}
