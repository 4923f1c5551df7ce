package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// The ceiling: what Redis itself can do with wheellock's scripts when the client costs next to nothing.
var (
	pipelineEntry = entry{
		name:     "ceiling",
		settings: "no library: wheellock's scripts, one name per call, one bare connection with up to 1024 pairs under way",
		lacks:    "everything: nobody gets a lock, replies are only checked",
		drive:    func(url string) (loadDriver, error) { return openPipeline(url, 1) },
		takes:    manyDistinct,
	}
	pipelineManyEntry = entry{
		name:     "ceiling x128",
		settings: "the same with 128 names in every call, as many as wheellock sends at most",
		lacks:    "the same",
		drive:    func(url string) (loadDriver, error) { return openPipeline(url, pipelineBatch) },
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
}

func openPipeline(url string, perCall int) (loadDriver, error) {
	conn, err := dial(url)
	if err != nil {
		return nil, err
	}
	loaded, err := loadOurScripts(conn)
	if err != nil {
		return nil, err
	}
	p := &pipeline{conn: conn, calls: 2 * pipelineBatch / perCall}
	all := names{prefix: freshPrefix()}
	for b := range pipelineBatches {
		var batch []string
		for i := range pipelineBatch {
			batch = append(batch, all.ofCaller(b, uint64(i)))
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
	return p.drive, nil
}

// drive keeps the pipeline full from one goroutine and takes the answers on another.
func (p *pipeline) drive(ctx context.Context, m *meter) error {
	defer p.conn.Close()
	underWay := make(chan struct{}, pipelineBatches)
	written := make(chan error, 1)
	go func() { written <- p.write(m, underWay) }()
	for range underWay {
		if err := p.readBatch(); err != nil {
			return err
		}
		if m.is(measuring) {
			m.pairs.Add(pipelineBatch)
		}
	}
	return <-written
}

// write sends batches until the turn ends; then it closes underWay.
func (p *pipeline) write(m *meter, underWay chan<- struct{}) error {
	defer close(underWay)
	for i := 0; !m.is(stopped); i++ {
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
