package main

import (
	"reflect"
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
	for command, args := range map[string][]string{"ls": nil, "show": {"by-show"}, "top": {"--count", "1", "by-top"}, "force": {"--yes", "by-force"}, "watch": {"--count", "1", "by-watch"}} {
		testkit.MustLock(t, e.Mutex("by-"+command))
		few := []string{"~*", "&*", "+scan"}
		call := func(rights ...string) *program {
			return wheellock(t, append([]string{command, "--redis", asUser(server, append(few, rights...)...)}, args...)...)
		}
		fields := map[string]string{"ls": "+hscan", "top": "+hscan", "show": "+hgetall", "watch": "+hgetall", "force": "+hgetall"}[command] // one name needs no search
		said := call().want(t, 69, fields, "+pttl", "+hlen", "+zrange").stderr.String()
		call(regexp.MustCompile(`\+[a-z|]+`).FindAllString(said, -1)...).want(t, 0, "by-"+command)
	}
}

// The rule of SECURITY.md, which is that of an engine, is enough to show a lock of any kind, and to free it; searches need what it says besides.
func TestShowUnderTheRuleOfAnEngine(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	prefix := func(o *engine.Options) { o.NameMapper = func(name string) string { return "app:" + name } }
	e, other := testkit.Connect(t, server.Addr(), prefix), testkit.Connect(t, server.Addr(), prefix)
	for kind, lock := range map[string]func(*engine.Engine) engine.Locker{
		"mutex":  func(e *engine.Engine) engine.Locker { return e.Mutex("mutex") },
		"fenced": func(e *engine.Engine) engine.Locker { return e.FencedMutex("fenced") },
		"fair":   func(e *engine.Engine) engine.Locker { return e.FairMutex("fair") },
		"read":   func(e *engine.Engine) engine.Locker { return e.RWMutex("read").Reader() },
		"write":  func(e *engine.Engine) engine.Locker { return e.RWMutex("write").Writer() },
		"simple": func(e *engine.Engine) engine.Locker { return e.SimpleMutex("simple") },
	} {
		testkit.MustLock(t, lock(e))
		if kind != "read" {
			lock(other).LockAsync(t.Context())
			redistest.Await(t, "a waiter for "+kind, func() bool {
				return server.MustDo("LLEN", "redisson_lock_queue:{app:fair}").Int > 0 && kind == "fair" || places(server, "app:"+kind) > 0
			})
		}
	}
	server.MustDo("SET", "app:number", "5")
	server.MustDo("HSET", "app:hash", "field", "1")
	for _, name := range []string{"app:mutex", "app:fenced", "app:fair", "app:read", "app:write", "app:simple", "app:number", "app:hash", "app:nothing"} {
		show := func(rule ...string) (shown row) {
			p := wheellock(t, "show", "--json", "--redis", asUser(server, rule...), name)
			if code := p.run(t); code > 1 {
				t.Fatalf("%s: exit code %d: %s", name, code, p.stderr.String())
			}
			shown = decode[row](t, p)[0]
			shown.TTL = 0
			return shown
		}
		all, few := show("~*", "&*", "+@all", "-client|list"), show(testkit.AclRule(t)...)
		if !reflect.DeepEqual(all, few) || all.Holders > 0 && all.Owners == nil {
			t.Errorf("%s: with the rule show has %+v, and with all rights %+v", name, few, all)
		}
	}
	wheellock(t, "force", "--yes", "--redis", asUser(server, testkit.AclRule(t)...), "app:simple").want(t, 0, "freed app:simple")
	searches := append(testkit.AclRule(t), testkit.AclBesides(t, "`wheellock ls`")...)
	for _, args := range [][]string{{"ls", "app:*"}, {"top", "--count", "1", "app:*"}} {
		wheellock(t, append(args, "--redis", asUser(server, searches...))...).want(t, 0, "app:mutex")
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
	t.Run("identities", func(t *testing.T) { // by which holders are looked for
		url := asUser(server, "~*", "&*", "+@all", "-client|list")
		wheellock(t, "ls", "--holder", "shop@", "--redis", url).want(t, 0, "only ids were compared")
		wheellock(t, "force", "--yes", "--holder", "shop@", "--redis", url).want(t, 1, "only ids were compared")
		if ls := wheellock(t, "ls", "--redis", url).want(t, 0, "ours:1"); ls.stderr.Len() > 0 {
			t.Errorf("ls of all says %s", ls.stderr.String())
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
	t.Run("the keys of permits", func(t *testing.T) { // the permits that are free are in the key of the name, those that are held beside it
		testkit.MustLock(t, e.Limit("permits", 2))
		url := asUser(server, "~permits", "&*", "+@all")
		wheellock(t, "show", "permits", "--redis", url).want(t, 69, "NOPERM")
		wheellock(t, "watch", "--count", "1", "permits", "--redis", url).want(t, 69, "NOPERM")
		wheellock(t, "ls", "permits", "--redis", url).want(t, 0, "not complete: this user may not read 1 key\n")
		wheellock(t, "top", "--count", "1", "--redis", url, "permits").want(t, 0, "held=0+ ")
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
