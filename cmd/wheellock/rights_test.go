package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// asUser makes a user anew with these rights, and returns the URL by which it comes.
func asUser(server *redistest.Server, rights ...string) (url string) {
	server.MustDo(append([]string{"ACL", "SETUSER", "operator", "reset", "on", ">secret"}, rights...)...)
	return "redis://operator:secret@" + server.Addr()
}

// Each command names all rights that it lacks, so that it works after they have been granted once.
func TestMissingRightsAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	for command, args := range map[string][]string{"ls": nil, "show": {"by-show"}, "top": {"--count", "1", "by-top"}, "force": {"--yes", "by-force"}} {
		testkit.MustLock(t, e.Mutex("by-"+command))
		few := []string{"~*", "&*", "+scan"}
		call := func(rights ...string) *program {
			return wheellock(t, append([]string{command, "--redis", asUser(server, append(few, rights...)...)}, args...)...)
		}
		said := call().want(t, 69, "+hscan", "+pttl", "+hlen", "+zrange").stderr.String()
		call(regexp.MustCompile(`\+[a-z|]+`).FindAllString(said, -1)...).want(t, 0, "by-"+command)
	}
}

// What a user may not know is said, and not told as nothing.
func TestWhatMayNotBeKnown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	testkit.MustLock(t, e.Mutex("ours:1"))
	testkit.MustLock(t, e.Mutex("theirs:1"))
	t.Run("who waits", func(t *testing.T) {
		url := asUser(server, "~*", "&*", "+@all", "-pubsub")
		wheellock(t, "show", "ours:1", "--redis", url).want(t, 0, "waiting    not known")
		wheellock(t, "top", "--count", "1", "--redis", url).want(t, 0, "held=2 waiting=? ")
		for _, args := range [][]string{{"show", "ours:1"}, {"top", "--count", "1"}} {
			p := wheellock(t, append(args, "--json", "--redis", url)...).want(t, 0, "ours:1")
			if strings.Contains(p.stdout.String(), `"waiting":`) {
				t.Errorf("%s --json tells how many wait: %s", args[0], p.stdout.String())
			}
		}
	})
	t.Run("keys", func(t *testing.T) {
		url := asUser(server, "~ours:*", "&*", "+@all")
		ls := wheellock(t, "ls", "--redis", url).want(t, 0, " ours:1\n", "not complete: this user may not read 1 key\n")
		if strings.Contains(ls.stdout.String(), "not complete") {
			t.Errorf("the list has it, and not standard error: %s", ls.stdout.String())
		}
		wheellock(t, "top", "--count", "1", "--redis", url).want(t, 0, "held=1+ ")
		testkit.MustLock(t, e.SimpleMutex("ours:2"))
		testkit.MustLock(t, e.SimpleMutex("theirs:2"))
		wheellock(t, "ls", "--kind", "simple", "--redis", url).want(t, 0, " ours:2\n", "not complete: this user may not read 1 key\n")
		wheellock(t, "show", "theirs:2", "--redis", url).want(t, 69, "NOPERM")
	})
}

// In a cluster a user without the right to ROLE sees each lock once, though replicas have it, too.
func TestClusterWithRightsToReadOnly(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	e := testkit.Connect(t, c.Nodes[0].Addr())
	for _, name := range testkit.Spread("job", 6) {
		testkit.MustLock(t, e.Mutex(name), engine.WithLease(time.Hour))
	}
	var url string
	for _, node := range slices.Backward(c.Nodes) {
		url = asUser(node, "~*", "&*", "+@read", "+cluster|slots", "+cluster|shards", "+pubsub")
	}
	redistest.Await(t, "the replicas to have them", func() bool {
		keys := 0
		for _, node := range c.Nodes {
			keys += len(node.Keys())
		}
		return keys == 12
	})
	if listed := decode[row](t, wheellock(t, "ls", "--json", "--redis", url).want(t, 0)); len(listed) != 6 {
		t.Errorf("ls lists %d locks, want 6", len(listed))
	}
}

// A user that may not ask for the nodes of a cluster sees the locks of one, and is told that these are not all.
func TestOneNodeOfAClusterIsNotAll(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	name := testkit.Spread("job", 1)[0]
	node := c.NodeOf(c.Slot(name))
	node.MustDo("HSET", name, "5b6347ed-ad50-8731-b33b-a0a5d591a909:1", "1")
	url := asUser(node, "~*", "&*", "+@read", "+pubsub")
	for _, args := range [][]string{{"ls"}, {"ls", "--json"}, {"top", "--count", "1"}} {
		wheellock(t, append(args, "--redis", url)...).want(t, 69, name, "this is a node of a Redis Cluster", "grant +cluster|slots")
	}
}

// Errors about the way to Redis say what to change.
func TestRemedies(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--requirepass", "secret")
	ca := testkit.NewAuthority(t)
	_, private := ca.Serve(ca.Issue("127.0.0.1", time.Now().Add(time.Hour)))
	for url, remedy := range map[string]string{
		server.Addr():                                           "--redis: Redis URL: it has no scheme: begin it with redis://",
		"redis://" + server.Addr():                              "put it into WHEELLOCK_PASSWORD, REDISCLI_AUTH or a file for --password-file",
		"redis://:wrong@" + server.Addr():                       "check the user and the password",
		"rediss://:wrong@" + server.Addr() + "?dial_timeout=1s": "does it speak TLS there? If not, begin the URL with redis://",
		"redis://" + private:                                    "does it want TLS (rediss://)",
		"rediss://" + private:                                   "name the file of who signed it with --cacert",
	} {
		exit := 69
		if url == server.Addr() {
			exit = 64
		}
		wheellock(t, "ls", "--redis", url).want(t, exit, remedy)
	}
}
