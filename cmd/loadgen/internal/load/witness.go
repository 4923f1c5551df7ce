package load

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// witness counts sections in Redis, through a client of its own: a second proof of exclusion, which shares
// nothing with the engine and its connection. A section adds one to the counter of its name and must find
// that it is the only one; it takes the counter away when it leaves, so that nothing stays behind.
type witness struct {
	client rueidis.Client
	prefix string
	life   time.Duration // of a counter whose process was killed
}

// WitnessCommands are the commands one checked section costs Redis, by their names in commandstats.
var WitnessCommands = []string{"incr", "pexpire", "del"}

func newWitness(o rueidis.ClientOption, plan *Plan) (*witness, error) {
	o.ClientName = "loadgen-witness"
	o.DisableCache, o.DisableRetry, o.AlwaysPipelining = true, true, true
	o.PipelineMultiplex, o.BlockingPipeline = -1, -1
	o.RingScaleEachConn, o.ReadBufferEachConn, o.WriteBufferEachConn = 8, 32<<10, 32<<10
	if o.ConnWriteTimeout == 0 {
		o.ConnWriteTimeout = 2 * time.Second
	}
	client, err := rueidis.NewClient(o)
	if err != nil {
		return nil, err
	}
	life := plan.Warmup + plan.Duration + plan.Hold + plan.LeaseTime() + time.Minute
	return &witness{client: client, prefix: CheckPrefix(plan.Prefix), life: life}, nil
}

// CheckPrefix is the prefix of the witness's keys under that of a run.
func CheckPrefix(prefix string) string { return prefix + "check:" }

func (w *witness) key(name int) string { return w.prefix + strconv.Itoa(name) }

// enter reports whether this section is the only one. An error means that nobody knows, and that the
// counter may be wrong from now on.
func (w *witness) enter(name int) (alone bool, err error) {
	key, b := w.key(name), w.client.B()
	answers := w.client.DoMulti(context.Background(), // a caller's context would be the connection's
		b.Incr().Key(key).Build(), b.Pexpire().Key(key).Milliseconds(w.life.Milliseconds()).Build())
	n, err := answers[0].AsInt64()
	return n == 1, err
}

func (w *witness) leave(name int) error {
	return w.client.Do(context.Background(), w.client.B().Del().Key(w.key(name)).Build()).Error()
}

func (w *witness) close() { w.client.Close() }
