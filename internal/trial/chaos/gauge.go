package chaos

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// gauge is what a client takes of the machine, and what it has done so far.
type gauge struct {
	At          instant
	Goroutines  int64
	Heap        int64 // bytes that live, after a collection
	RSS         int64 // bytes
	Descriptors int64
	Granted     int64
	Cancelled   int64
	Lost        int64
	Leaks       int64 // by order
}

// serverGauge is what Redis has.
type serverGauge struct {
	At       instant
	Memory   int64 // bytes
	Clients  int64
	Keys     int64 // without receipts
	Receipts int64 // which stay for a minute
	Channels int64 // that somebody listens to
}

// tally counts what a client in a soak does not tell. Lost are holds of which the holder heard when he unlocked.
type tally struct{ granted, cancelled, lost, leaks atomic.Int64 }

// takes counts a record, unless it has to be told: a gauge, the end, or an error that nobody should get.
func (t *tally) takes(r record) bool {
	switch {
	case r.What == granted:
		t.granted.Add(1)
	case r.What == denied && r.Classes&isContext != 0:
		t.cancelled.Add(1)
	case r.What == unlocked && r.Classes&isLost != 0:
		t.lost.Add(1)
	}
	return r.What != sampled && r.What != rested && r.Text == ""
}

// sample tells again and again what the client takes, until ctx ends.
func (c *client) sample(ctx context.Context) {
	tick := time.NewTicker(c.Sample)
	defer tick.Stop()
	for ctx.Err() == nil {
		g, err := c.gauge()
		if err != nil {
			c.tell(record{What: sampled, At: g.At, Text: err.Error()})
		} else {
			c.tell(record{What: sampled, At: g.At, Gauge: &g})
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// gauge reads what Linux and the runtime know of this process.
func (c *client) gauge() (gauge, error) {
	leaks := c.tally.leaks.Load() // these are in all that follows
	runtime.GC()
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(heap)
	g := gauge{At: now(), Goroutines: int64(runtime.NumGoroutine()), Heap: int64(heap[0].Value.Uint64()),
		Granted: c.tally.granted.Load(), Cancelled: c.tally.cancelled.Load(), Lost: c.tally.lost.Load(), Leaks: leaks}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return g, err
	}
	g.Descriptors = int64(len(open))
	pages, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return g, err
	}
	_, err = fmt.Sscanf(string(pages), "%d %d", new(int64), &g.RSS)
	g.RSS *= int64(os.Getpagesize())
	return g, err
}

// lastGauge is what the process has said of itself last; a zero gauge: nothing yet.
func (p *process) lastGauge() (g gauge) {
	said := p.said()
	for i := len(said) - 1; i >= 0; i-- {
		if said[i].Gauge != nil {
			return *said[i].Gauge
		}
	}
	return gauge{}
}

// gauges counts what the process has said of itself.
func (p *process) gauges() (n int) {
	for _, r := range p.said() {
		if r.Gauge != nil {
			n++
		}
	}
	return n
}

// leak loses some of everything that a soak counts, as a bug would, until the client is to rest. When it returns, Redis
// has it too.
func (c *client) leak() {
	defer c.tally.leaks.Add(1)
	for range 8 {
		conn, err := net.Dial("tcp", c.Addr)
		if err != nil {
			return // there are enough others
		}
		name, kept := fmt.Sprintf("leaked:%d:%d", c.Number, c.number()), strings.Repeat("x", 512<<10)
		// The command is short: what a long one takes of Redis' buffers comes back after two seconds.
		_, _ = fmt.Fprintf(conn, "HELLO 3\r\nSETRANGE %s 65536 x\r\nSUBSCRIBE %[1]s\r\n", name)
		answers := bufio.NewScanner(conn)
		for answers.Scan() && answers.Text() != "subscribe" {
		}
		go func() {
			<-c.resting.Done()
			_, _ = fmt.Fprintf(conn, "DEL %s\r\nQUIT\r\n", name)
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
			runtime.KeepAlive(kept)
		}()
	}
}

// watch notes again and again what Redis has, until ctx ends, and says how it goes.
func (ph *phase) watch(ctx context.Context) {
	tick := time.NewTicker(ph.sample)
	defer tick.Stop()
	said := ph.began
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		g := ph.gauge()
		ph.mu.Lock()
		ph.served = append(ph.served, g)
		ph.mu.Unlock()
		if g.At.sub(said) >= min(30*time.Second, ph.lasts/5) {
			said = g.At
			ph.tb.Log(ph.progress(g))
		}
	}
}

// gauge asks Redis what it has.
func (ph *phase) gauge() serverGauge {
	g := serverGauge{At: now(), Clients: int64(ph.server.ClientCount("normal") + ph.server.ClientCount("pubsub")),
		Channels: int64(ph.server.Subscriptions().Count())}
	memory := resp.InfoFields(ph.server.MustDo("INFO", "memory").Text)["used_memory"]
	if _, err := fmt.Sscan(memory, &g.Memory); err != nil {
		ph.tb.Errorf("Redis does not say what memory it uses: %v", err)
	}
	for _, key := range ph.server.Keys() {
		switch {
		case strings.Contains(key, ":wheellock:receipt:"):
			g.Receipts++
		case strings.HasSuffix(key, ":wheellock:claims"): // it ends by itself
		default:
			g.Keys++
		}
	}
	return g
}
