package interop

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// scene is a script of commands, one after the other, and what is published meanwhile: channel and payload. "& "
// before a command: it has to wait, and the next one comes when it listens; an empty one when it has what it waits for.
// "$" is the answer of the last command that had one, "expired a" two permits whose holders have died.
type scene struct {
	what     string
	commands string
	want     []string
	ours     []string // nil: as Redisson's, want
	why      string   // they differ
}

const given = "the release gives the lock to a waiter of ours, which knows it by its code"

var scenes = []scene{
	{what: "a mutex is unlocked", commands: "lock lock a t1; unlock lock a t1", want: []string{"redisson_lock__channel:{a} 0"}},
	{what: "a mutex is locked again and unlocked", commands: "lock lock a t1; lock lock a t1; unlock lock a t1; unlock lock a t1", want: []string{"redisson_lock__channel:{a} 0"}},
	{what: "a name with braces", commands: "lock lock x{a} t1; unlock lock x{a} t1", want: []string{"redisson_lock__channel:x{a} 0"}},
	{what: "a mutex is forced, and once more", commands: "lock lock a t1; force lock a; force lock a", want: []string{"redisson_lock__channel:{a} 0"}},
	{what: "a waiter for a mutex gets it", commands: "lock lock a t1; & lock lock a t2; unlock lock a t1; ; unlock lock a t2",
		want: []string{"redisson_lock__channel:{a} 0", "redisson_lock__channel:{a} 0"},
		ours: []string{"redisson_lock__channel:{a}:wheellock:OWNER -CODE", "redisson_lock__channel:{a} 0"}, why: given},
	{what: "a fenced mutex is unlocked", commands: "lock fenced a t1; unlock fenced a t1", want: []string{"redisson_lock__channel:{a} 0"}},
	{what: "a fenced mutex is forced", commands: "lock fenced a t1; force fenced a", want: []string{"redisson_lock__channel:{a} 0"}},
	{what: "a spin mutex is unlocked", commands: "lock spin a t1; unlock spin a t1", want: nil},
	{what: "a spin mutex is forced", commands: "lock spin a t1; force spin a", want: nil},
	{what: "a multi lock is unlocked", commands: "lock multi:a,b - t1; unlock multi:a,b - t1", want: []string{"redisson_lock__channel:{a} 0", "redisson_lock__channel:{b} 0"}},

	{what: "a fair mutex that nobody waits for is unlocked", commands: "lock fair a t1; unlock fair a t1", want: nil},
	{what: "a fair mutex is unlocked for the next", commands: "lock fair a t1; & lock fair a t2; unlock fair a t1; ; unlock fair a t2",
		want: []string{"redisson_lock__channel:{a}:OWNER 0"}, ours: []string{"redisson_lock__channel:{a}:OWNER CODE"}, why: given},
	{what: "a fair mutex is forced from who has it", commands: "lock fair a t1; & lock fair a t2; force fair a; ; unlock fair a t2",
		want: []string{"redisson_lock__channel:{a}:OWNER 0"}, ours: []string{"redisson_lock__channel:{a}:OWNER CODE"}, why: given},

	{what: "a writer unlocks", commands: "lock write a t1; unlock write a t1", want: []string{"redisson_rwlock:{a} 1"}},
	{what: "a writer unlocks twice", commands: "lock write a t1; lock write a t1; unlock write a t1; unlock write a t1", want: []string{"redisson_rwlock:{a} 1"}},
	{what: "a writer is forced", commands: "lock write a t1; force write a", want: []string{"redisson_rwlock:{a} 1"}},
	{what: "the last of two readers unlocks", commands: "lock read a t1; lock read a t2; unlock read a t1; unlock read a t2", want: []string{"redisson_rwlock:{a} 0"}},
	{what: "a reader is forced", commands: "lock read a t1; force read a", want: []string{"redisson_rwlock:{a} 0"}},
	{what: "a writer reads and unlocks both", commands: "lock write a t1; lock read a t1; unlock read a t1; unlock write a t1", want: []string{"redisson_rwlock:{a} 1"}},
	{what: "a writer becomes a reader", commands: "lock write a t1; lock read a t1; unlock write a t1; unlock read a t1",
		want: []string{"redisson_rwlock:{a} 0"}, ours: []string{"redisson_rwlock:{a} 1", "redisson_rwlock:{a} 0"},
		why: "Redisson lets the readers sleep who may come in now"},

	{what: "a semaphore is given permits", commands: "set-permits semaphore a 3; set-permits semaphore a 5", want: []string{"redisson_sc:{a} 3"}},
	{what: "permits are taken and given back", commands: "set-permits semaphore a 3; acquire semaphore a t1 2; release semaphore a 1", want: []string{"redisson_sc:{a} 3", "redisson_sc:{a} 2"}},
	{what: "permits are added and taken away", commands: "add-permits semaphore a 4; add-permits semaphore a -9; release semaphore a 2", want: []string{"redisson_sc:{a} 4", "redisson_sc:{a} -5", "redisson_sc:{a} -3"}},
	{what: "permits are drained", commands: "set-permits semaphore a 3; drain semaphore a", want: []string{"redisson_sc:{a} 3"}},
	{what: "permits are given for a minute", commands: "set-permits semaphore a 3 60000; set-permits semaphore a 5 60000", want: []string{"redisson_sc:{a} 3"}},
	{what: "a semaphore is deleted, and once more", commands: "set-permits semaphore a 3; delete semaphore a; delete semaphore a", want: []string{"redisson_sc:{a} 3"}},

	{what: "permits that expire are given", commands: "set-permits permit a 3; set-permits permit a 5", want: []string{"redisson_sc:{a} 3"}},
	{what: "one of them is freed", commands: "set-permits permit a 3; acquire permit a t1 1; release permit a $", want: []string{"redisson_sc:{a} 3", "redisson_sc:{a} 3"}},
	{what: "two of them are freed, at once", commands: "set-permits permit a 5; acquire permit a t1 2; release permit a $", want: []string{"redisson_sc:{a} 5", "redisson_sc:{a} 2"}},
	{what: "permits that expire are added and taken away", commands: "set-permits permit a 2; add-permits permit a 3; add-permits permit a -1", want: []string{"redisson_sc:{a} 2", "redisson_sc:{a} 3"}},
	{what: "permits that expire are set, and once more", commands: "resize permit a 3; acquire permit a t1 1; resize permit a 7; resize permit a 7; resize permit a 1",
		want: []string{"redisson_sc:{a} 3", "redisson_sc:{a} 7", "redisson_sc:{a} 1"}},
	{what: "permits that expire are deleted, and once more", commands: "set-permits permit a 3; acquire permit a t1 1; delete permit a; delete permit a", want: []string{"redisson_sc:{a} 3"}},
	{what: "permits that have expired are found", commands: "set-permits permit a 5; expired a; available permit a", want: []string{"redisson_sc:{a} 5", "redisson_sc:{a} 7"}},

	{what: "a latch is set and counted down, and once too often", commands: "set-count a 2; set-count a 3; count-down a; count-down a; count-down a", want: []string{"redisson_countdownlatch__channel__{a} 1", "redisson_countdownlatch__channel__{a} 0"}},
	{what: "a latch with braces", commands: "set-count x{a} 1; count-down x{a}", want: []string{"redisson_countdownlatch__channel__{x{a}} 1", "redisson_countdownlatch__channel__{x{a}} 0"}},
	{what: "a latch is deleted, and once more", commands: "set-count a 2; delete latch a; delete latch a", want: []string{"redisson_countdownlatch__channel__{a} 1", "redisson_countdownlatch__channel__{a} 1"}},
	{what: "who awaits a latch is let through", commands: "set-count a 1; & await a t1; count-down a", want: []string{"redisson_countdownlatch__channel__{a} 1", "redisson_countdownlatch__channel__{a} 0"}},
}

// TestSameMessages has Redisson and then us do the same, and compares every message that Redis is given to publish.
func TestSameMessages(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	java := StartRedisson(t, server)
	for _, s := range scenes {
		t.Run(s.what, func(t *testing.T) {
			// Ours may announce themselves to somebody only once: engines of their own for every scene.
			ours := NewOurs(func() *engine.Engine { return open(t, server, engine.Options{}) })
			if got := s.play(t, server, java); !slices.Equal(got, s.want) {
				t.Errorf("Redisson published %q, want %q", got, s.want)
			}
			want := s.want
			if s.why != "" {
				want = s.ours
			}
			if got := s.play(t, server, ours); !slices.Equal(got, want) {
				t.Errorf("we published %q, want %q %s", got, want, s.why)
			}
		})
	}
}

// party is who can play a scene.
type party interface {
	Start(format string, args ...any) <-chan string
}

// play returns what was published.
func (s *scene) play(t *testing.T, server *redistest.Server, p party) []string {
	t.Helper()
	server.MustDo("FLUSHALL")
	redistest.Await(t, "nobody listens", func() bool { return server.Subscriptions().Count() == 0 })
	monitor := server.Monitor()
	var waits []<-chan string
	last := ""
	for command := range strings.SplitSeq(s.commands, ";") {
		command, waiting := strings.CutPrefix(strings.TrimSpace(command), "& ")
		switch {
		case command == "": // who waits has what he waits for
			mustAnswer(t, s.what, <-waits[0])
			waits = waits[1:]
		case command == "expired a":
			server.MustDo("ZADD", scripts.PermitsKey("a"), "1", "0123456789abcdef", "2", "fedcba9876543210")
		case waiting:
			waits = append(waits, p.Start("%s", command))
			redistest.Await(t, "it listens", func() bool { return server.Subscriptions().Count() > 0 })
			awaitAsked(t, server)
		default:
			if said := mustAnswer(t, command, <-p.Start("%s", strings.ReplaceAll(command, "$", last))); said != "" {
				last = said
			}
		}
	}
	for _, wait := range waits {
		mustAnswer(t, s.what, <-wait)
	}
	all := published(monitor.Stop())
	if strings.Contains(s.commands, "multi:") { // its parts have no order among themselves
		slices.Sort(all)
	}
	return all
}

func mustAnswer(t *testing.T, command, line string) string {
	t.Helper()
	said, ok := read(line)
	if !ok {
		t.Fatalf("%s: %s", command, said)
	}
	return said
}

// awaitAsked returns when whoever waits has asked once more after his subscription: no script runs any more.
func awaitAsked(t *testing.T, server *redistest.Server) {
	t.Helper()
	last := int64(-1)
	redistest.Await(t, "it sleeps", func() bool {
		time.Sleep(10 * time.Millisecond)
		now := server.CommandCounts()["evalsha"]
		same := now == last
		last = now
		return same
	})
}

var (
	publication = regexp.MustCompile(`(?i)\] "S?PUBLISH" "([^"]*)" "([^"]*)"$`)
	claimCode   = regexp.MustCompile(`[0-9]{19}$`)
	ownerField  = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(:[0-9]+)?`)
)

// published is what was published, of the commands that ran, but for Open's trial of its rights. Owners have no names here.
func published(commands []string) []string {
	var all []string
	for _, line := range commands {
		if found := publication.FindStringSubmatch(line); found != nil && !strings.Contains(line, "{wheellock:probe:") {
			all = append(all, ownerField.ReplaceAllString(found[1], "OWNER")+" "+claimCode.ReplaceAllString(found[2], "CODE"))
		}
	}
	return all
}
