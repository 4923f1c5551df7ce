package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/child"
	"github.com/wheellock/wheellock/internal/testkit/figures"
	"github.com/wheellock/wheellock/internal/testkit/redisserver"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// An outage of Redis meets a site (site.go) to which requests come in an open loop: what becomes of them says what a library does to its users.
type outage struct {
	ID, Title    string
	began, ended string // what is done, in the picture
	begin        func(*deployment) error
	end          func(context.Context, *deployment) error // nil: the sentinel ends it
}

var outages = []outage{
	{"killed", "Redis is killed, and started again without data", "killed", "started", kill,
		func(ctx context.Context, d *deployment) error { return d.master.Launch(ctx) }},
	{"frozen", "Redis is frozen (SIGSTOP), and goes on (SIGCONT)", "frozen", "goes on",
		func(d *deployment) error { return d.master.Process().Freeze() },
		func(_ context.Context, d *deployment) error { return d.master.Process().Thaw() }},
	{"failover", "the master is killed, and a sentinel, for which 1 s of silence is enough, makes its replica the master and says so", "killed", "promoted", kill, nil},
}

func kill(d *deployment) error {
	d.master.Kill()
	return nil
}

const (
	outageRate  = 300             // requests a second
	outageKeys  = 10              // of which a request has any
	outageBound = 5 * time.Second // a request that takes longer is abandoned: it hangs
)

// phases are how long a turn goes on before, during and after the outage. How long it takes to promote a replica, the sentinel decides.
type phases struct{ before, during, after time.Duration }

var outagePhases = phases{3 * time.Second, 5 * time.Second, 6 * time.Second}

// deployment is the servers of one turn; only the master, unless a sentinel is to end the outage.
type deployment struct {
	master, replica *server
	sentinel        *redisserver.Server
	url             string
}

// deploy returns also with an error what has been started.
func deploy(ctx context.Context, command string, replicated bool) (d *deployment, err error) {
	d = &deployment{}
	if d.master, err = startServer(ctx, command, "", 0); err != nil {
		return d, err
	}
	if d.url = d.master.url; !replicated {
		return d, nil
	}
	if d.replica, err = startServer(ctx, fmt.Sprintf("%s --replicaof 127.0.0.1 %d", command, d.master.Port), "", 0); err != nil {
		return d, err
	}
	d.sentinel = redisserver.Sentinel(d.master.Addr, 1)
	d.sentinel.Apart, d.sentinel.Dir = true, d.master.Dir
	if err := d.sentinel.Start(ctx); err != nil {
		return d, err
	}
	d.url = fmt.Sprintf("redis://%s?master_set=%s", d.sentinel.Addr, redisserver.MasterName)
	return d, errors.Join(d.sentinel.Hasten().Err(), await("the replica to follow its master", func() bool {
		return d.sentinel.Do("SENTINEL", "MASTER", redisserver.MasterName).Fields()["num-slaves"] == "1" &&
			resp.InfoFields(d.replica.Do("INFO", "replication").Text)["master_link_status"] == "up"
	}))
}

// promoted says whether the sentinel tells clients that the replica is the master now.
func (d *deployment) promoted() bool {
	at := d.sentinel.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", redisserver.MasterName).Texts()
	return len(at) == 2 && at[1] == strconv.Itoa(d.replica.Port)
}

func await(what string, is func() bool) error {
	if !child.Await(is) {
		return fmt.Errorf("waited in vain for %s", what)
	}
	return nil
}

func (d *deployment) stop() {
	if d.sentinel != nil {
		d.sentinel.Kill()
	}
	for _, s := range []*server{d.replica, d.master} {
		if s != nil {
			s.Close()
		}
	}
}

// visitors come to a site.
type visitors struct {
	site   string // its address
	client http.Client
	began  time.Time

	mu     sync.Mutex // guards the rest
	seen   []request
	behind time.Duration // by how much a request was sent too late, at most
	failed error         // of a request that was neither answered nor abandoned, as when the site has gone
}

// request is one as its visitor saw it.
type request struct {
	due   time.Duration // after the first
	took  time.Duration // from when it was due
	code  int           // 0: abandoned
	known bool          // when it came, the library had said that Redis is down
}

func newVisitors(site string, bound time.Duration) *visitors {
	return &visitors{site: site, client: http.Client{Timeout: bound, Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 12}}, began: time.Now()}
}

// come has a visitor send a request whenever one is due, until ctx ends, and returns when each has an answer or was abandoned.
func (v *visitors) come(ctx context.Context) {
	defer v.client.CloseIdleConnections()
	keys := rand.New(rand.NewPCG(1, 2)) // the same for each library
	var coming sync.WaitGroup
	for n := time.Duration(0); ctx.Err() == nil; n++ {
		due, key := n*time.Second/outageRate, keys.IntN(outageKeys)
		sleepUntil(v.began.Add(due))
		coming.Go(func() { v.visit(due, key) })
	}
	coming.Wait()
}

func (v *visitors) visit(due time.Duration, key int) {
	r, behind := request{due: due}, time.Since(v.began)-due
	ask, err := http.NewRequest(http.MethodPost, "http://"+v.site, nil)
	if err == nil {
		ask.Header.Set(keyHeader, "stock:"+strconv.Itoa(key))
		var answer *http.Response
		if answer, err = v.client.Do(ask); err == nil {
			r.code, r.known = answer.StatusCode, answer.Header.Get(downSays) != ""
			answer.Body.Close()
		}
	}
	r.took = time.Since(v.began) - due
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil && !os.IsTimeout(err) {
		v.failed = err
	}
	v.seen, v.behind = append(v.seen, r), max(v.behind, behind)
}

// A tally is what became of some of the requests. Times are microseconds.
type tally struct {
	Sent     int     `json:"sent"`
	Answered int     `json:"answered"` // 200
	InTime   int     `json:"in_time"`  // of these, within the budget
	Refused  int     `json:"refused"`  // any other answer
	Late     int     `json:"late"`     // answered or refused, but over the budget
	Hung     int     `json:"hung"`     // abandoned
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	Longest  float64 `json:"longest_us"`
}

// count counts the requests that were due in a time; of them those that came when the library had said that Redis is down, or all.
func (v *visitors) count(from, to time.Duration, onlyKnown bool) (t tally) {
	var times figures.Histogram
	for _, r := range v.seen {
		if r.due < from || r.due >= to || onlyKnown && !r.known {
			continue
		}
		t.Sent++
		times.Record(r.took)
		late := r.took > guardBudget
		switch {
		case r.code == 0:
			t.Hung++
			continue
		case r.code != http.StatusOK:
			t.Refused++
		case late:
			t.Answered++
		default:
			t.Answered++
			t.InTime++
		}
		if late {
			t.Late++
		}
	}
	t.P50, t.P99, t.Longest = micros(times.Percentile(50)), micros(times.Percentile(99)), micros(times.Percentile(100))
	return t
}

// outageResult is one turn: a library in an outage. Its tallies are of requests by when they were due.
type outageResult struct {
	Outage     string  `json:"outage"`
	Contestant string  `json:"contestant"`
	Void       string  `json:"void,omitempty"` // why none of the figures counts
	Begin      float64 `json:"begin_s"`        // of the outage, after the first request
	End        float64 `json:"end_s"`
	Behind     float64 `json:"sent_too_late_us"` // a request, at most: the machine had other work
	Whole      tally   `json:"whole_outage"`
	FromOne    tally   `json:"outage_from_one_second_on"`
	Known      tally   `json:"outage_known"`
	First      tally   `json:"first_second_after"`
	Seconds    []tally `json:"seconds"`
}

// turn lets a library go through the outage.
func (o outage) turn(ctx context.Context, e entry, command string, p phases) (r outageResult, err error) {
	r = outageResult{Outage: o.ID, Contestant: e.name}
	d, err := deploy(ctx, command, o.end == nil)
	defer d.stop()
	if err != nil {
		return r, err
	}
	address, leave, err := startSite(place{URL: d.url, Contestant: e.name})
	if err != nil {
		return r, err
	}
	defer leave()
	v := newVisitors(address, outageBound)
	coming, stop := context.WithCancel(ctx)
	var come sync.WaitGroup
	come.Go(func() { v.come(coming) })
	begin, end, err := o.strike(ctx, d, v.began, p)
	stop()
	come.Wait()

	r.Begin, r.End, r.Behind = begin.Seconds(), end.Seconds(), micros(v.behind)
	r.Whole, r.FromOne, r.Known = v.count(begin, end, false), v.count(begin+time.Second, end, false), v.count(begin, end, true)
	r.First = v.count(end, end+time.Second, false)
	for at := time.Duration(0); at+time.Second <= end+p.after; at += time.Second { // whole ones
		r.Seconds = append(r.Seconds, v.count(at, at+time.Second, false))
	}
	return r, errors.Join(err, v.failed)
}

// startSite has a process serve a site.
func startSite(at place) (address string, leave func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(self, siteRole)
	cmd.Stderr = os.Stderr
	process, err := child.Talk(cmd)
	if err != nil {
		return "", nil, err
	}
	leave = func() {
		process.Kill()
		process.Wait() // killed is how it may end
	}
	overdue := time.AfterFunc(child.Patience, process.Kill)
	defer overdue.Stop()
	if err := errors.Join(process.Say(at), process.Hear(&address)); err != nil {
		leave()
		return "", nil, fmt.Errorf("the site of %s: %w", at.Contestant, err)
	}
	return address, leave, nil
}

// strike has the phases of an outage go by, and tells when it began and ended.
func (o outage) strike(ctx context.Context, d *deployment, start time.Time, p phases) (begin, end time.Duration, err error) {
	if err = pause(ctx, p.before-time.Since(start)); err != nil {
		return begin, end, err
	}
	begin = time.Since(start)
	if err = o.begin(d); err != nil {
		return begin, end, err
	}
	if o.end == nil {
		err = await("a promotion", d.promoted)
	} else if err = pause(ctx, begin+p.during-time.Since(start)); err == nil {
		err = o.end(ctx, d)
	}
	end = time.Since(start)
	return begin, end, errors.Join(err, pause(ctx, p.after))
}

// goThrough lets each library that guards sites go through each outage, and reports it.
func goThrough(ctx context.Context, opts options) error {
	s, err := startServer(ctx, opts.servers[0], "", 0) // to have its name
	if err != nil {
		return err
	}
	s.Close()
	r := &outageReport{Environment: newEnvironment([]*server{s}, time.Now()), Command: commandLine(), entries: opts.entries}
	void := 0
	for _, o := range outages {
		for _, e := range opts.entries {
			if e.guard == nil {
				continue
			}
			turn, err := o.turn(ctx, e, opts.servers[0], outagePhases)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				turn.Void = err.Error()
				void++
			}
			r.Turns = append(r.Turns, turn)
			fmt.Fprintf(os.Stderr, "%-9s %-12s longest %s, from one second on %s; in time after %s; sent %s too late at most %s\n", o.ID, e.name,
				microseconds(turn.Whole.Longest), microseconds(turn.FromOne.Longest), turn.First.share(), microseconds(turn.Behind), turn.Void)
		}
	}
	if len(r.Turns) == 0 {
		return errors.New("none of these contestants guards a handler")
	}
	if err := r.write(os.Stdout, opts.out); err != nil || void == 0 {
		return err
	}
	return fmt.Errorf("%d of %d turns are void: see the report", void, len(r.Turns))
}
