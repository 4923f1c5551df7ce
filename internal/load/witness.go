package load

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// witness counts sections in Redis, through a client of its own: a second proof of exclusion, which shares
// nothing with the engine and its connection. A section adds its weight to the counter of its name and must
// find no more there than may be inside; it takes it away when it leaves.
type witness struct {
	client rueidis.Client
	prefix string
	shares bool          // others may be inside, too
	room   int64         // how many
	life   time.Duration // of a counter of a killed process
}

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
	return &witness{client: client, prefix: CheckPrefix(plan.Prefix), shares: plan.Kind.Shares(), room: plan.room(), life: life}, nil
}

// CheckPrefix is the prefix of the witness's keys under that of a run.
func CheckPrefix(prefix string) string { return prefix + "check:" }

func (w *witness) key(name int) string { return w.prefix + strconv.Itoa(name) }

// enter adds a section, and reports whether no more are inside than there is room for. An error means that
// nobody knows, and that the counter may be wrong from now on.
func (w *witness) enter(name int, weight int64) (fits bool, err error) {
	key, b := w.key(name), w.client.B()
	add := b.Incr().Key(key).Build()
	if w.shares {
		add = b.Incrby().Key(key).Increment(weight).Build()
	}
	answers := w.client.DoMulti(context.Background(), // a caller's context would be the connection's
		add, b.Pexpire().Key(key).Milliseconds(w.life.Milliseconds()).Build())
	n, err := answers[0].AsInt64()
	return n <= w.room, err
}

func (w *witness) leave(name int, weight int64) error {
	leave := w.client.B().Del().Key(w.key(name)).Build()
	if w.shares {
		leave = w.client.B().Decrby().Key(w.key(name)).Decrement(weight).Build()
	}
	return w.client.Do(context.Background(), leave).Error()
}

func (w *witness) close() { w.client.Close() }
