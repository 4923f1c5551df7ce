package interop

import (
	"context"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// churning is how long it goes on: WHEELLOCK_CHURN=10m for a full run.
func churning(t *testing.T) time.Duration {
	if text := os.Getenv("WHEELLOCK_CHURN"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return 2 * contention(t)
}

// TestFairChurnWithRedisson has waiters of both sides come, be served, give up and go away, and looks at everything
// that happens to the queues: nobody who waits is purged by either side, and nobody is served who is not the first.
func TestFairChurnWithRedisson(t *testing.T) {
	t.Parallel()
	// Whoever is silent for so long counts as dead, also on a machine that stands still.
	const life = 20 * time.Second
	p := newPair(t, engine.Options{FairWaiterLease: life})
	others := []*engine.Engine{p.Engine, open(t, p.server, engine.Options{FairWaiterLease: life})}
	f := newFight(t, p, "fair", churning(t))
	watch := watchQueues(t, p, f.names)
	f.redisson("fair", 6)
	f.redisson("fair", 6, "40")
	// A giver-up of Redisson's that was just called tells nobody, and the next of its kind sleeps; unless one of ours
	// stands behind it, which is so as long as Redisson's go on.
	for i, e := range others {
		f.ours(4, func(name string) (func() error, error) {
			return entered(e.FairMutex(name).Lock(context.Background()))
		}, f.add)
		f.ours(4, func(name string) (func() error, error) {
			return entered(e.FairMutex(name).Lock(context.Background(), engine.WithWait(time.Duration(1+rand.IntN(40))*time.Millisecond)))
		}, f.add)
		f.ours(2+2*i, func(name string) (func() error, error) { // goes away, perhaps with its question on its way
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(5000))*time.Microsecond)
			defer cancel()
			return entered(e.FairMutex(name).Lock(ctx))
		}, f.add)
	}
	f.end(false)
	served, left := watch.end()
	t.Logf("%d served, %d left a queue by themselves", served, left)
	if served == 0 || left == 0 {
		t.Error("nothing was seen")
	}
}

// queues replays what is done to the queues of fair locks, as MONITOR tells it.
type queues struct {
	t       *testing.T
	theirs  string // begins the owners of Redisson
	monitor *redistest.Monitor
	stop    chan struct{}
	done    sync.WaitGroup

	// Owned by the goroutine that replays, until it is done.
	lines        map[string]*replayed // by the keys of the lock and of its queue
	served, left int
}

// replayed is one queue. A script's doing is judged at its end.
type replayed struct {
	waiting []string
	purged  map[string]bool  // of ours: by us, for they had gone, or so it seemed
	until   map[string]int64 // when those of Redisson's give up, ms
	holder  string           // who got the lock by this script
	popped  []string         // who was taken from the head by it
	joined  int              // who came by it
	ours    bool             // it is one of our scripts
	now     int64            // when it ran, ms
}

func watchQueues(t *testing.T, p *pair, names []string) *queues {
	uuid, _, _ := strings.Cut(p.java.Do("owner t1"), ":")
	q := &queues{t: t, theirs: uuid, monitor: p.server.Monitor(), stop: make(chan struct{}), lines: make(map[string]*replayed)}
	for _, name := range names {
		line := &replayed{purged: make(map[string]bool), until: make(map[string]int64)}
		q.lines[name], q.lines[scripts.FairQueue(name)] = line, line
	}
	q.done.Go(func() {
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-tick.C:
				q.replay(q.monitor.Take())
			case <-q.stop:
				tick.Stop()
				return
			}
		}
	})
	return q
}

// end reads the rest and tells how many were served, and how many went away by themselves.
func (q *queues) end() (served, left int) {
	q.t.Helper()
	close(q.stop)
	q.done.Wait()
	q.replay(q.monitor.Stop())
	for _, line := range q.lines {
		q.judge(line)
	}
	return q.served, q.left
}

var quoted = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)

func (q *queues) replay(lines []string) {
	for _, text := range lines {
		var words []string
		for _, found := range quoted.FindAllStringSubmatch(text, -1) {
			words = append(words, found[1])
		}
		if len(words) < 2 {
			continue
		}
		command := strings.ToUpper(words[0])
		if !strings.Contains(text, " lua] ") {
			n, _ := strconv.Atoi(words[min(2, len(words)-1)])
			for _, key := range words[min(3, len(words)):min(3+n, len(words))] { // of a script
				if line := q.lines[key]; line != nil {
					q.judge(line)
					line.ours = strings.Contains(text, ":wheellock:alive")
					line.now = whenRun(text)
					line.promised(q, words[3+n:])
				}
			}
			continue
		}
		if line := q.lines[words[1]]; line != nil {
			line.apply(q, command, words[2:])
		}
	}
}

func (l *replayed) apply(q *queues, command string, args []string) {
	isQueue := command == "RPUSH" || command == "LPUSH" || command == "LPOP" || command == "LREM"
	switch {
	case command == "RPUSH":
		l.back(q, args)
		l.waiting = append(l.waiting, args...)
		l.joined += len(args)
	case command == "LPUSH":
		l.back(q, args)
		l.waiting = slices.Insert(l.waiting, 0, args...)
	case command == "LPOP" && len(l.waiting) > 0:
		l.popped, l.waiting = append(l.popped, l.waiting[0]), l.waiting[1:]
	case command == "LREM" && slices.Contains(l.waiting, args[1]):
		l.waiting = slices.DeleteFunc(l.waiting, func(owner string) bool { return owner == args[1] })
		q.left++
	case !isQueue && (command == "HSET" || command == "HINCRBY" && args[1] == "1"):
		l.holder = args[0]
		q.served++
		if len(l.waiting) > l.joined && l.waiting[0] != l.holder && !slices.Contains(l.popped, l.holder) {
			q.t.Errorf("%s was served, but it was %s's turn", l.holder, l.waiting[0])
		}
		l.back(q, args[:1])
	}
}

// promised notes until when one of Redisson's waits who asks: its arguments are lease, owner, wait and its clock.
func (l *replayed) promised(q *queues, args []string) {
	if len(args) != 4 || !strings.HasPrefix(args[1], q.theirs) || slices.Contains(l.waiting, args[1]) {
		return
	}
	wait, _ := strconv.ParseInt(args[2], 10, 64)
	now, _ := strconv.ParseInt(args[3], 10, 64)
	l.until[args[1]] = now + wait
}

// whenRun is the time of a line of MONITOR, in ms.
func whenRun(line string) int64 {
	seconds, _, _ := strings.Cut(line, " ")
	at, _ := strconv.ParseFloat(seconds, 64)
	return int64(at * 1000)
}

// back is who comes, or is served: if he was purged before, he had waited all the time.
func (l *replayed) back(q *queues, owners []string) {
	for _, owner := range owners {
		if l.purged[owner] {
			q.t.Errorf("%s was purged while it waited", owner)
			delete(l.purged, owner)
		}
	}
}

// early is by how many ms one of Redisson's may be purged before it gives up: its deadline counts from that of the one
// before it, not from its own question, and moves when that one is served. Those who do not give up wait 300,000.
const early = 1000

// judge looks at who was taken from the head by the script that has just ended. Who was served is gone rightly. Ours
// who have gone away are taken out by our scripts, and their numbers never come back. Nobody has died.
func (q *queues) judge(l *replayed) {
	for _, owner := range l.popped {
		switch {
		case owner == l.holder:
		case l.ours && !strings.HasPrefix(owner, q.theirs):
			l.purged[owner] = true
			q.left++
		case l.now < l.until[owner]-early:
			q.t.Errorf("%s was purged %d ms before it gives up", owner, l.until[owner]-l.now)
		}
	}
	l.popped, l.holder, l.ours, l.joined = nil, "", false, 0
}
