package futures_test

import (
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/wheellock/wheellock/futures"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// goroutines is the Runner of most tests: a goroutine per callback, parkers of its own.
type goroutines struct {
	futures.Parkers
	sync.WaitGroup
}

func (g *goroutines) Go(t futures.Task) { g.WaitGroup.Go(t.Run) }

// byHand keeps callbacks until the test runs them, on the goroutine of the test.
type byHand struct {
	futures.Parkers
	tasks  []futures.Task
	onGo   func() // called by Go
	panics []*futures.PanicError
}

func (b *byHand) Go(t futures.Task) {
	b.tasks = append(b.tasks, t)
	if b.onGo != nil {
		b.onGo()
	}
}

func (b *byHand) HandlePanic(p *futures.PanicError) { b.panics = append(b.panics, p) }

// runAll runs what is kept and what that brings, and says how many it were.
func (b *byHand) runAll() (n int) {
	for ; len(b.tasks) > 0; n++ {
		task := b.tasks[0]
		b.tasks = b.tasks[1:]
		task.Run()
	}
	return n
}

// countCancels is a Canceler.
type countCancels int

func (c *countCancels) Cancelled() { *c++ }

// wantAnswer fails unless f has exactly this answer now.
func wantAnswer[T comparable](t *testing.T, f *futures.Future[T], value T, err error) {
	t.Helper()
	if v, e := f.Result(); v != value || e != err {
		t.Errorf("answer = %v, %v; want %v, %v", v, e, value, err)
	}
}
