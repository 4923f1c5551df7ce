package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/figures"
	"github.com/wheellock/wheellock/internal/testkit/redisserver"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// An outage of Redis meets a site (site.go) that has visitors in an open loop: what becomes of them says what a library does to those who use it.
type outage struct {
	ID, Title    string
	began, ended string // what is done, in the picture
	sentinels    bool
	begin        func(*deployment) error
	end          func(context.Context, *deployment) error // returns when Redis can serve again; nil: its sentinels see to that
}

var outages = []outage{
	{"killed", "Redis is killed, and started again without data", "killed", "started", false, kill,
		func(ctx context.Context, d *deployment) error { return d.nodes[0].Launch(ctx) }},
	{"frozen", "Redis is frozen (SIGSTOP), and goes on (SIGCONT)", "frozen", "goes on", false,
		func(d *deployment) error { return d.nodes[0].Process().Freeze() },
		func(_ context.Context, d *deployment) error { return d.nodes[0].Process().Thaw() }},
	{"failover", "the master is killed, and three sentinels, for which 1 s of silence is enough, make its replica the master", "killed", "promoted", true, kill, nil},
}

func kill(d *deployment) error {
	d.nodes[0].Kill()
	return nil
}

const (
	outageRate  = 300             // requests a second
	outageKeys  = 10              // of which a request has any
	outageBound = 5 * time.Second // a request that takes longer is abandoned: it hangs
	promotion   = 20 * time.Second
)

// phases are how long a turn goes on before, during and after the outage. How long it takes to promote a replica, the sentinels decide.
type phases struct{ before, during, after time.Duration }

var outagePhases = phases{3 * time.Second, 5 * time.Second, 6 * time.Second}

// deployment is the servers of one turn.
type deployment struct {
	url       string
	nodes     []*server // the master first
	sentinels []*redisserver.Server
}

// deploy starts a server, or a master with a replica and three sentinels. What has started is returned with an error, too.
func deploy(ctx context.Context, command string, sentinels bool) (*deployment, error) {
	master, err := startServer(ctx, command, "", 0)
	if err != nil {
		return &deployment{}, err
	}
	d := &deployment{url: master.url, nodes: []*server{master}}
	if !sentinels {
		return d, nil
	}
	replica, err := startServer(ctx, fmt.Sprintf("%s --replicaof 127.0.0.1 %d", command, master.Port), "", 0)
	if err != nil {
		return d, err
	}
	d.nodes = append(d.nodes, replica)
	var addrs []string
	for range 3 {
		s := redisserver.Sentinel(master.Addr, 2)
		s.Apart = true
		if s.Dir, err = os.MkdirTemp("", "peers"); err != nil {
			return d, err
		}
		d.sentinels = append(d.sentinels, s)
		if err := s.Start(ctx); err != nil {
			return d, err
		}
		if err := s.Hasten().Err(); err != nil {
			return d, err
		}
		addrs = append(addrs, s.Addr)
	}
	d.url = fmt.Sprintf("redis://%s?addr=%s&master_set=%s", addrs[0], strings.Join(addrs[1:], "&addr="), redisserver.MasterName)
	return d, await(ctx, "sentinels that know all", d.settled)
}

// settled says whether the replica follows its master, and each sentinel knows of both and of the other sentinels.
func (d *deployment) settled() bool {
	for _, s := range d.sentinels {
		knows := s.Do("SENTINEL", "MASTER", redisserver.MasterName).Fields()
		if knows["flags"] != "master" || knows["num-other-sentinels"] != "2" || knows["num-slaves"] != "1" {
			return false
		}
	}
	return resp.InfoFields(d.nodes[1].Do("INFO", "replication").Text)["master_link_status"] == "up"
}

// promoted says whether a sentinel tells clients that the replica is the master now.
func (d *deployment) promoted() bool {
	return slices.ContainsFunc(d.sentinels, func(s *redisserver.Server) bool {
		at := s.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", redisserver.MasterName).Texts()
		return len(at) == 2 && at[1] == strconv.Itoa(d.nodes[1].Port)
	})
}

// await looks until something is so.
func await(ctx context.Context, what string, is func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, promotion)
	defer cancel()
	for !is() {
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
	}
	return nil
}

func (d *deployment) Close() {
	for _, s := range d.sentinels {
		s.Kill()
		os.RemoveAll(s.Dir)
	}
	for _, n := range d.nodes {
		n.Close()
	}
}

// request is one as its visitor saw it.
type request struct {
	due   time.Duration // after the first
	took  time.Duration // from when it was due
	code  int           // 0: abandoned
	known bool          // the library had said that Redis is down when it came
}

// visitors come to a site.
type visitors struct {
	site   string // its address
	client http.Client
	began  time.Time

	mu     sync.Mutex // guards the rest
	seen   []request
	behind time.Duration // by how much a request was sent too late, at most
	failed error         // what came of a request that was neither answered nor abandoned, such as a site that has gone
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
	r := request{due: due}
	behind := time.Since(v.began) - due
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
	if late, is := errors.AsType[net.Error](err); err != nil && !(is && late.Timeout()) {
		v.failed = errors.Join(err, v.failed)
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

// count counts the requests of which which says so.
func (v *visitors) count(which func(request) bool) (t tally) {
	var times figures.Histogram
	for _, r := range v.seen {
		if !which(r) {
			continue
		}
		t.Sent++
		times.Record(r.took)
		t.Longest = max(t.Longest, micros(r.took))
		switch late := r.took > guardBudget; {
		case r.code == 0:
			t.Hung++
		case r.code == http.StatusOK && !late:
			t.Answered++
			t.InTime++
		case r.code == http.StatusOK:
			t.Answered++
			t.Late++
		default:
			t.Refused++
			if late {
				t.Late++
			}
		}
	}
	t.P50, t.P99 = micros(times.Percentile(50)), micros(times.Percentile(99))
	return t
}

// outageResult is one turn: a library in an outage. Its parts are of requests by when they were due.
type outageResult struct {
	Outage     string  `json:"outage"`
	Contestant string  `json:"contestant"`
	Void       string  `json:"void,omitempty"` // why none of the figures counts
	Begin      float64 `json:"begin_s"`        // of the outage, after the first request
	End        float64 `json:"end_s"`
	Behind     float64 `json:"sent_too_late_us"` // a request, at most: the measuring process had no processor
	Whole      tally   `json:"whole_outage"`
	FromOne    tally   `json:"outage_from_one_second_on"`
	Known      tally   `json:"outage_known"` // came while the library said that Redis is down
	First      tally   `json:"first_second_after"`
	Later      tally   `json:"later_after"`
	Seconds    []tally `json:"seconds"`
}

// turn lets a library go through the outage.
func (o outage) turn(ctx context.Context, e entry, command string, p phases) (r outageResult, err error) {
	r = outageResult{Outage: o.ID, Contestant: e.name}
	d, err := deploy(ctx, command, o.sentinels)
	defer d.Close()
	if err != nil {
		return r, err
	}
	process, err := startChild(childSpec{URL: d.url, Contestant: e.name, Work: siteWork}, nil)
	if err != nil {
		return r, err
	}
	defer process.end()
	var address string
	err = process.Hear(&address)
	process.overdue.Stop()
	if err != nil {
		return r, process.ended(err)
	}
	v := newVisitors(address, outageBound)
	coming, stop := context.WithCancel(ctx)
	defer stop()
	var come sync.WaitGroup
	come.Go(func() { v.come(coming) })
	begin, end, err := o.strike(ctx, d, v.began, p)
	stop()
	come.Wait()
	r.take(v, begin, end)
	return r, errors.Join(err, v.failed)
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
		err = await(ctx, "a promotion", d.promoted)
	} else if err = pause(ctx, begin+p.during-time.Since(start)); err == nil {
		err = o.end(ctx, d)
	}
	end = time.Since(start)
	if err == nil {
		err = pause(ctx, p.after)
	}
	return begin, end, err
}

// take counts what became of the visitors.
func (r *outageResult) take(v *visitors, begin, end time.Duration) {
	between := func(from, to time.Duration) func(request) bool {
		return func(one request) bool { return one.due >= from && one.due < to }
	}
	var last time.Duration
	for _, one := range v.seen {
		last = max(last, one.due)
	}
	r.Begin, r.End, r.Behind = begin.Seconds(), end.Seconds(), micros(v.behind)
	r.Whole, r.FromOne = v.count(between(begin, end)), v.count(between(begin+time.Second, end))
	r.Known = v.count(func(one request) bool { return one.known && between(begin, end)(one) })
	r.First, r.Later = v.count(between(end, end+time.Second)), v.count(between(end+time.Second, last+1))
	for at := time.Duration(0); at+time.Second <= last+time.Second/outageRate; at += time.Second { // whole ones
		r.Seconds = append(r.Seconds, v.count(between(at, at+time.Second)))
	}
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
			result, err := o.turn(ctx, e, opts.servers[0], outagePhases)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				result.Void = err.Error()
				void++
			}
			r.Turns = append(r.Turns, result)
			fmt.Fprintf(os.Stderr, "%-9s %-12s outage %.1f s  longest %s, from one second on %s  first second after %s in time  %s\n", o.ID, e.name,
				result.End-result.Begin, microseconds(result.Whole.Longest), microseconds(result.FromOne.Longest), result.First.share(), result.Void)
		}
	}
	if err := r.write(os.Stdout, opts.out); err != nil || void == 0 {
		return err
	}
	return fmt.Errorf("%d of %d turns are void: see the report", void, len(r.Turns))
}
