package elect

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/internal/leaders"
)

// flooded is an election whose channel gets a message every millisecond, and whose questions are answered after 200 µs.
type flooded struct {
	err error

	mu    sync.Mutex // guards the rest
	term  int64
	asked int
}

func (f *flooded) ask(context.Context, any, string, *leaders.Note) (leaders.Note, bool, error) {
	time.Sleep(200 * time.Microsecond) // sleeps: in a bubble
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	return leaders.Note{Term: f.term}, f.err != nil, f.err
}

// elect has somebody else lead, and returns how many questions there were since.
func (f *flooded) elect() (asked int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.term++
	asked, f.asked = f.asked, 0
	return asked
}

func (f *flooded) listen(ctx context.Context, _ any, _ string, heard func()) (passes bool, err error) {
	for wait(ctx, nil, time.Millisecond); ctx.Err() == nil; wait(ctx, nil, time.Millisecond) {
		heard()
	}
	return false, nil
}

// observe runs test beside an observer.
func (f *flooded) observe(t *testing.T, listen func(context.Context, any, string, func()) (bool, error), test func(seen <-chan Leader)) {
	defer func(ask func(context.Context, any, string, *leaders.Note) (leaders.Note, bool, error), listen func(context.Context, any, string, func()) (bool, error)) {
		leaders.Ask, leaders.Listen = ask, listen
	}(leaders.Ask, leaders.Listen)
	leaders.Ask, leaders.Listen = f.ask, listen
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		seen, ended := make(chan Leader, 10), make(chan struct{})
		go func() {
			defer close(ended)
			for leader := range New(new(engine.Engine), "scheduler", Options{}).Observe(ctx) {
				seen <- leader
			}
		}()
		test(seen)
		stop()
		<-ended
	})
}

// An observer whose user may not listen asks every five seconds, listens no more often, and tells it once.
func TestAnObserverThatMayNotListen(t *testing.T) { // not beside others, either
	var log strings.Builder
	defer func(ask func(context.Context, any, string, *leaders.Note) (leaders.Note, bool, error), listen func(context.Context, any, string, func()) (bool, error)) {
		leaders.Ask, leaders.Listen = ask, listen
	}(leaders.Ask, leaders.Listen)
	tried := 0
	leaders.Ask = func(context.Context, any, string, *leaders.Note) (leaders.Note, bool, error) {
		return leaders.Note{Term: 1}, false, nil
	}
	leaders.Listen = func(context.Context, any, string, func()) (bool, error) {
		tried++
		return false, fmt.Errorf("%w: NOPERM", engine.ErrRefused)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		for range New(new(engine.Engine), "scheduler", Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}).Observe(ctx) {
		}
		synctest.Wait()
		if told := strings.Count(log.String(), "may not listen"); tried > 13 || told != 1 {
			t.Errorf("in a minute it tried %d times, and told it %d times", tried, told)
		}
	})
}

// Work for messages is bounded, whoever publishes them. invariant: one-command-per-name
func TestMessagesMakeAnObserverAskAFewTimesASecond(t *testing.T) { // not beside others: they ask by the same functions
	for what, err := range map[string]error{"Redis answers": nil, "Redis cannot be reached": engine.ErrNotSent} {
		t.Run(what, func(t *testing.T) {
			f := &flooded{err: err}
			f.observe(t, f.listen, func(seen <-chan Leader) {
				time.Sleep(time.Second)
				f.elect()
				time.Sleep(10 * time.Second)
				if asked := f.elect(); asked < 30 || asked > 50 {
					t.Errorf("10,000 messages in 10 s led to %d questions, want about 40", asked)
				}
				time.Sleep(longestHeed + time.Millisecond)
				if err == nil && len(seen) != 2 {
					t.Errorf("among the messages %d new leaders are seen, want two", len(seen))
				}
			})
		})
	}
	t.Run("a message after the flood is heeded at once", func(t *testing.T) {
		f := &flooded{term: 1}
		f.observe(t, func(ctx context.Context, e any, name string, heard func()) (bool, error) {
			few, stop := context.WithTimeout(ctx, 10*time.Second)
			defer stop()
			_, _ = f.listen(few, e, name, heard)
			wait(ctx, nil, time.Minute)
			f.elect()
			heard()
			<-ctx.Done()
			return false, nil
		}, func(seen <-chan Leader) {
			time.Sleep(70*time.Second + time.Millisecond)
			if len(seen) != 2 {
				t.Error("a new leader is not seen at once")
			}
		})
	})
}
