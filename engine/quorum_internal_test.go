package engine

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
)

// All processes wait in the line of one server: the first, from the last one on, that has not failed.
func TestTheLineToWaitInIsThatOfTheFirstServerThatAnswers(t *testing.T) {
	held, failed := &HeldError{Name: "a"}, errors.New("it is down")
	for _, c := range []struct {
		from int
		errs []error
		want int
	}{
		{0, []error{held, nil, failed}, 0},
		{0, []error{failed, nil, held}, 1},
		{0, []error{failed, failed, held}, 2},
		{1, []error{held, failed, failed}, 0},
		{2, []error{held, nil, failed}, 0},
		{5, []error{nil, held, failed}, 0},
		{4, []error{failed, fmt.Errorf("it said: %w", held), failed}, 1},
	} {
		if got := lineFrom(c.from, c.errs); got != c.want {
			t.Errorf("from server %d, of %v: %d, want %d", c.from, c.errs, got, c.want)
		}
	}
}

// That others wanted a name is remembered for a second, and does not take memory for ever.
func TestWantedNamesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &quorumQueues{wanted: make(map[string]wish)}
		check := func(name string, want bool) {
			t.Helper()
			if place, wanted := q.isWanted(name); wanted != want || wanted && place != 2 {
				t.Errorf("%s: wanted %v, at server %d", name, wanted, place)
			}
		}
		for i := range 100 {
			q.want(fmt.Sprint(i), 2)
			time.Sleep(wantedFor / 100)
		}
		check("99", true)
		check("0", false)
		time.Sleep(wantedFor)
		check("99", false)
		if q.want("last", 2); len(q.wanted) != 1 {
			t.Errorf("%d names are kept, want 1", len(q.wanted))
		}
	})
}

// An answer is waited for as long as Redis may need for it: with the time of replicas and of the disk.
func TestPatience(t *testing.T) {
	redis := rueidis.ClientOption{ConnWriteTimeout: 10 * time.Second}
	for _, c := range []struct {
		o    Options
		want time.Duration
	}{
		{Options{AnswerTimeout: -1, Replicas: 1, Fsync: time.Second}, 0},
		{Options{AnswerTimeout: 2 * time.Second}, 2 * time.Second},
		{Options{AnswerTimeout: 2 * time.Second, Fsync: time.Second}, 3 * time.Second},
		{Options{AnswerTimeout: 2 * time.Second, Lease: 5 * time.Second, Replicas: 1}, 2500 * time.Millisecond},
		{Options{AnswerTimeout: 2 * time.Second, Lease: 5 * time.Second, Replicas: AllReplicas, Fsync: time.Second}, 3500 * time.Millisecond},
	} {
		c.o.Redis = redis
		if got := c.o.patience(); got != c.want {
			t.Errorf("AnswerTimeout %v, Replicas %d, Fsync %v, Lease %v: %v, want %v", c.o.AnswerTimeout, c.o.Replicas, c.o.Fsync, c.o.Lease, got, c.want)
		}
	}
}
