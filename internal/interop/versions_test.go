package interop

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// setting is how both sides are set up: a row of the table in docs/JAVA.md.
type setting struct {
	name    string
	flags   []string       // Redisson's, as bench/redisson/README.md has them
	ours    engine.Options // but for the server
	cluster bool
	holds   time.Duration                             // how long a name is held before it is given
	look    func(*pair, *testing.T) map[string]string // what is not as it should be, by kind; nil: handOvers
}

const watched = 6 * time.Second // a lease: a machine may stand still for a third of it

var settings = []setting{
	{name: "as they are"},
	{name: "codec Kryo5Codec", flags: []string{"--codec", "kryo5"}},
	{name: "codec JsonJacksonCodec", flags: []string{"--codec", "json"}},
	{name: "useScriptCache true", flags: []string{"--script-cache", "true"}},
	{name: "useScriptCache false", flags: []string{"--script-cache", "false"}},
	{name: "NameMapper on both sides", flags: []string{"--prefix", "shop:"}, ours: engine.Options{NameMapper: inShop}},
	{name: "lockWatchdogTimeout 6 s, Lease 6 s", flags: []string{"--watchdog-ms", "6000"}, ours: engine.Options{Lease: watched}, holds: 2*watched + time.Second},
	{name: "lockWatchdogTimeout 3 s, Lease 30 s", flags: []string{"--watchdog-ms", "3000"}, look: (*pair).readTogether},
	{name: "WithMinHold", look: (*pair).minHold},
	{name: "ForceUnlock", look: (*pair).notTold},
	{name: "cluster", cluster: true},
	{name: "cluster, shardedSubscriptionMode OFF", flags: []string{"--sharded", "OFF"}, cluster: true},
	{name: "cluster, PubSub PubSubPlain", cluster: true, ours: engine.Options{PubSub: engine.PubSubPlain}},
	{name: "cluster, PubSub PubSubBoth", cluster: true, ours: engine.Options{PubSub: engine.PubSubBoth}},
}

func inShop(name string) string { return "shop:" + name }

// TestVersions: what the table of docs/JAVA.md says is what the versions of Redisson in WHEELLOCK_VERSIONS do. A version that has
// no column there is only logged.
func TestVersions(t *testing.T) {
	table := readTable(t)
	for i, s := range settings {
		if i >= len(table)-1 || table[i+1][0] != s.name {
			t.Fatalf("docs/JAVA.md: row %d of the table is not %q", i+1, s.name)
		}
	}
	for version := range strings.FieldsSeq(os.Getenv("WHEELLOCK_VERSIONS")) {
		column := slices.Index(table[0], version)
		for i, s := range settings {
			t.Run(version+", "+s.name, func(t *testing.T) {
				got := s.run(t, version)
				t.Logf("| %s | %s | %s |", version, s.name, got)
				if column >= 0 && !slices.Contains(strings.Split(table[i+1][column], " or "), got) {
					t.Errorf("docs/JAVA.md says %q", table[i+1][column])
				}
			})
		}
	}
}

// readTable is that table by rows, the first of which is its head.
func readTable(t *testing.T) (table [][]string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/JAVA.md")
	testkit.Must(t, err)
	_, rows, _ := strings.Cut(string(text), "\n## What each version shares\n")
	_, rows, _ = strings.Cut(rows, "\n\n| settings")
	rows, _, _ = strings.Cut("| settings"+rows, "\n\n")
	for row := range strings.SplitSeq(rows, "\n") {
		cells := strings.Split(strings.Trim(row, "| "), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		table = append(table, cells)
	}
	return slices.Delete(table, 1, 2) // the line below the head
}

// run is the cell of a version.
func (s *setting) run(t *testing.T, version string) string {
	p, flags := newServers(t, s.cluster), s.flags
	if s.cluster {
		flags = append([]string{"--cluster"}, flags...)
	}
	var missing bool
	if p.java, missing = startVersion(t, version, append(flags, "--redis", p.urls())...); missing {
		return "missing"
	}
	t.Cleanup(p.java.Kill) // who is not woken would keep it
	p.Engine = openAt(t, p.addrs(), s.ours)
	if s.look != nil {
		return sentence(s.look(p, t))
	}
	ours := NewOurs(func() *engine.Engine { return p.Engine })
	seen := s.handOvers(t, p, "Java", p.java, ours)
	maps.Copy(seen, s.handOvers(t, p, "Go", ours, p.java))
	return sentence(seen)
}

// sentence is what a cell says: kinds that are alike stand together.
func sentence(seen map[string]string) string {
	by := make(map[string][]string) // kinds, by what was seen
	var whats []string
	for _, turn := range turns() {
		what := seen[turn.kind]
		if by[what] == nil && what != "" {
			whats = append(whats, what)
		}
		by[what] = append(by[what], turn.kind)
	}
	if len(whats) == 0 {
		return "works"
	}
	for i, what := range whats {
		who := strings.Join(by[what], ", ")
		if len(by[what]) > len(turns())/2 {
			who = "all but " + strings.Join(by[""], ", ") // the rest has words of its own
		}
		whats[i] = what + ": " + who
	}
	return strings.Join(whats, "; ")
}

// turn is how one side has what the other one waits for, in the words of bench/redisson/README.md: NAME, and the threads HOLDER and
// WAITER.
type turn struct {
	kind       string
	holds      string // the commands of the holder, with "; " between
	asks, told string // what the waiter asks meanwhile, and what it is to be told
	waits      string // the command of the waiter
	gives      string // and of the holder at the end, with $ for what holding has answered
	polls      bool
}

func turns() []turn {
	lock := func(kind, holder, waiter string) turn {
		return turn{
			kind: kind, holds: "lock " + holder + " HOLDER", asks: "try " + waiter + " WAITER", told: "false",
			waits: "lock " + waiter + " WAITER", gives: "unlock " + holder + " HOLDER",
		}
	}
	all := []turn{
		lock("lock", "lock NAME", "lock NAME"),
		lock("fair", "fair NAME", "fair NAME"),
		lock("fenced", "fenced NAME", "fenced NAME"),
		lock("spin", "spin NAME", "spin NAME"),
		lock("multi", "multi:NAME:1,NAME:2 -", "multi:NAME:1,NAME:2 -"),
		lock("write", "write NAME", "write NAME"),
		lock("write after read", "read NAME", "write NAME"),
		lock("read", "write NAME", "read NAME"),
		{
			kind: "semaphore", holds: "set-permits semaphore NAME 1; acquire semaphore NAME HOLDER 1",
			asks: "available semaphore NAME", told: "0",
			waits: "acquire semaphore NAME WAITER 1", gives: "release semaphore NAME 1",
		},
		{
			kind: "permit", holds: "set-permits permit NAME 1; acquire permit NAME HOLDER 1",
			asks: "available permit NAME", told: "0",
			waits: "acquire permit NAME WAITER 1", gives: "release permit NAME $",
		},
		{kind: "latch", holds: "set-count NAME 1", waits: "await NAME WAITER", gives: "count-down NAME"},
	}
	all[3].polls = true
	return all
}

// handOvers has one side hold a name of each kind, and then give it to the other side, which waits for it. It returns, by kind, what
// is not as between two engines of ours.
func (s *setting) handOvers(t *testing.T, p *pair, from string, holder, waiter party) map[string]string {
	seen, gives, waits := make(map[string]string), make(map[string]string), make(map[string]<-chan string)
	for _, polls := range []bool{false, true} {
		for _, turn := range turns() {
			if turn.polls == polls {
				if what := p.begin(turn.of(from), holder, waiter, gives, waits); what != "" {
					seen[turn.kind] = what
				}
			}
		}
		if !polls {
			p.awaitSleeper(t)
		}
	}
	if !slices.Contains(p.keys(), scripts.FairQueue(s.key(from+":fair"))) {
		seen["fair"] = "two queues" // each side looks into its own
	}
	time.Sleep(s.holds)
	for kind, wait := range waits {
		if len(wait) > 0 {
			seen[kind] = "not excluded"
		}
		if said, ok := read(<-holder.Start("%s", gives[kind])); !ok {
			t.Logf("%s: %s: %s", kind, gives[kind], said)
			seen[kind] = "lost"
		}
	}
	for kind, what := range awaitAll(t, waits) {
		seen[kind] = cmp.Or(seen[kind], what)
	}
	return seen
}

// awaitAll awaits all who wait for as long as messages may take, and returns who were not woken.
func awaitAll(t *testing.T, waits map[string]<-chan string) map[string]string {
	t.Helper()
	seen := make(map[string]string)
	within, cancel := context.WithTimeout(t.Context(), byMessage)
	defer cancel()
	for kind, wait := range waits {
		for len(wait) == 0 && within.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		if len(wait) == 0 {
			seen[kind] = "late"
		} else if said, ok := read(<-wait); !ok {
			seen[kind] = said
		}
	}
	return seen
}

// of is the turn with names.
func (w turn) of(from string) turn {
	kind := strings.ReplaceAll(w.kind, " ", "-")
	names := strings.NewReplacer("NAME", from+":"+kind, "HOLDER", "h-"+kind, "WAITER", "w-"+kind)
	for _, command := range []*string{&w.holds, &w.asks, &w.waits, &w.gives} {
		*command = names.Replace(*command)
	}
	return w
}

// begin has the holder hold and the waiter wait. It returns what is wrong with that.
func (p *pair) begin(w turn, holder, waiter party, gives map[string]string, waits map[string]<-chan string) string {
	var said string
	for command := range strings.SplitSeq(w.holds, "; ") {
		var ok bool
		if said, ok = read(<-holder.Start("%s", command)); !ok {
			return notThere(said)
		}
	}
	if w.asks != "" {
		told, ok := read(<-waiter.Start("%s", w.asks))
		if !ok {
			return notThere(told)
		}
		if told != w.told {
			return "not excluded"
		}
	}
	gives[w.kind], waits[w.kind] = strings.ReplaceAll(w.gives, "$", said), waiter.Start("%s", w.waits)
	return ""
}

// notThere says so of a kind that a version of Redisson does not have.
func notThere(said string) string {
	if strings.HasPrefix(said, "NoSuchMethodError") || strings.HasPrefix(said, "NoClassDefFoundError") {
		return "missing"
	}
	return said
}

// keys are those of all nodes.
func (p *pair) keys() (all []string) {
	for _, node := range p.nodes {
		all = append(all, node.Keys()...)
	}
	return all
}

// key is the key of a name.
func (s *setting) key(name string) string {
	if s.ours.NameMapper == nil {
		return name
	}
	return s.ours.NameMapper(name)
}

// readTogether has both sides read. After Redisson's unlock, no writer may get in beside our reader.
func (p *pair) readTogether(t *testing.T) map[string]string {
	h := lock(t, p.RWMutex("shelf").Reader())
	p.java.Do("lock read shelf t1")
	time.Sleep(2 * time.Second) // Redisson renews every second, we every ten
	p.java.Do("unlock read shelf t1")
	t.Logf("%d ms are left of our lease", p.server.MustDo("PTTL", "shelf").Int)
	if p.java.Do("try write shelf t1 5000") == "true" && h.Err() == nil {
		return map[string]string{"read": "lost"}
	}
	unlock(t, h)
	return nil
}

// minHold has Redisson wait for names that nobody holds any more, until their minimum is over.
func (p *pair) minHold(t *testing.T) map[string]string {
	waits := make(map[string]<-chan string)
	for _, k := range []kind{kinds[0], kinds[3]} { // lock and fair
		h, err := k.lock(p.Engine, k.redisson).Lock(t.Context(), engine.WithMinHold(3*time.Second))
		testkit.Must(t, err)
		waits[k.redisson] = p.java.Start("lock %s %s %s", k.redisson, k.redisson, k.redisson)
		p.awaitWaiter(t, k, k.redisson)
		unlock(t, h)
	}
	return awaitAll(t, waits)
}

// notTold has us force what Redisson holds, and looks whether its unlock tells.
func (p *pair) notTold(t *testing.T) map[string]string {
	seen := make(map[string]string)
	for _, k := range kinds {
		if said, ok := p.java.Try("lock %s %s t1", k.redisson, k.redisson); !ok {
			seen[k.redisson] = notThere(said)
			continue
		}
		if _, err := k.lock(p.Engine, k.redisson).ForceUnlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, ok := p.java.Try("unlock %s %s t1", k.redisson, k.redisson); ok {
			seen[k.redisson] = "not told"
		}
	}
	return seen
}
