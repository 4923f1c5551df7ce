package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/figures"
	"github.com/wheellock/wheellock/internal/testkit/resp"
	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// The ceiling: what Redis itself can do with wheellock's scripts when the client costs next to nothing.
var (
	pipelineEntry = entry{
		name:     "ceiling",
		settings: "no library: wheellock's scripts, one name per call, one bare connection with up to 1024 pairs under way",
		lacks:    "everything: nobody gets a lock, replies are only checked",
		measure:  pipelined(1),
		takes:    manyDistinct,
	}
	pipelineManyEntry = entry{
		name:     "ceiling x128",
		settings: "the same with 128 names in every call, as many as wheellock sends at most",
		lacks:    "the same",
		measure:  pipelined(pipelineBatch),
		takes:    manyDistinct,
	}
)

const (
	pipelineBatch   = 128 // pairs in one batch: their acquires, then their releases
	pipelineBatches = 8   // batches under way; each has names of its own
)

// manyDistinct are the works whose figures can be put beside the ceiling.
func manyDistinct(w work) bool { return w.Hot == 0 && w.Callers > 1 }

// pipeline sends the same bytes over and over: a batch frees what it took, so the next may be like it.
type pipeline struct {
	conn    *resp.Conn
	batches [][]byte
	calls   int // of one batch: first acquires, then as many releases
	pairs   atomic.Int64
	ending  atomic.Bool
}

func openPipeline(url string, perCall int) (*pipeline, error) {
	conn, err := dial(url)
	if err != nil {
		return nil, err
	}
	loaded, err := loadOurScripts(conn)
	if err != nil {
		return nil, err
	}
	p := &pipeline{conn: conn, calls: 2 * pipelineBatch / perCall}
	prefix := freshPrefix()
	for b := range pipelineBatches {
		var batch []string
		for i := range pipelineBatch {
			batch = append(batch, fmt.Sprintf("%s%08x%08x", prefix, b, i))
		}
		var bytes []byte
		for call := range slices.Chunk(batch, perCall) {
			bytes = resp.AppendCommand(bytes, loaded.acquireCall(anOwner, call...)...)
		}
		for call := range slices.Chunk(batch, perCall) {
			bytes = resp.AppendCommand(bytes, loaded.releaseCall(anOwner, call...)...)
		}
		p.batches = append(p.batches, bytes)
	}
	return p, nil
}

// pipelined does a turn in this process, which does nothing else meanwhile.
func pipelined(perCall int) func(context.Context, *turn) (measurement, error) {
	return func(ctx context.Context, t *turn) (m measurement, err error) {
		p, err := openPipeline(t.server.url, perCall)
		if err != nil {
			return m, err
		}
		defer p.conn.Close()
		ended := make(chan error, 1)
		go func() { ended <- p.drive() }()
		if err := pause(ctx, t.opts.warmUp); err != nil {
			return m, err
		}
		before, err := t.server.Counters()
		if err != nil {
			return m, err
		}
		began, pairs, used := time.Now(), p.pairs.Load(), usage.Now()
		if err := pause(ctx, t.opts.length); err != nil {
			return m, err
		}
		s := load.Sample{Elapsed: time.Since(began), Usage: usage.Now(), Goroutines: int64(runtime.NumGoroutine())}
		s.Counts.Pairs = p.pairs.Load() - pairs
		figures.Subtract(&s.Usage, &used)
		after, err := t.server.Counters()
		p.ending.Store(true)
		return measurement{[]load.Sample{s}, after.Since(before)}, errors.Join(err, <-ended)
	}
}

// drive keeps the pipeline full from one goroutine and takes the answers on another.
func (p *pipeline) drive() error {
	underWay := make(chan struct{}, pipelineBatches)
	written := make(chan error, 1)
	go func() { written <- p.write(underWay) }()
	for range underWay {
		if err := p.readBatch(); err != nil {
			return err
		}
		p.pairs.Add(pipelineBatch)
	}
	return <-written
}

// write sends batches until the turn ends; then it closes underWay.
func (p *pipeline) write(underWay chan<- struct{}) error {
	defer close(underWay)
	for i := 0; !p.ending.Load(); i++ {
		if _, err := p.conn.Write(p.batches[i%pipelineBatches]); err != nil {
			return err
		}
		underWay <- struct{}{}
	}
	return nil
}

var (
	takenLine = []byte(":1\r\n")
	freedLine = []byte(":0\r\n") // nobody listens
)

func (p *pipeline) readBatch() error {
	for call := range p.calls {
		want := takenLine
		if call >= p.calls/2 {
			want = freedLine
		}
		got, err := p.conn.In.ReadSlice('\n')
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("the ceiling got %q, want %q", got, want)
		}
	}
	return nil
}
