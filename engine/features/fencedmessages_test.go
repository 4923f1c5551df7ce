package features_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/testkit/resp"
	"github.com/wheellock/wheellock/scripts"
)

// A user who may publish and listen, and nothing else, hears what the release of a fenced mutex says: a code, or when to ask. It says that again
// behind a number of its own. The next holder has the token that Redis made.
// invariant: tokens-grow
func TestNoMessageBringsAFencingToken(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.MustDo("ACL", "SETUSER", "stranger", "on", ">secret", "resetkeys", "resetchannels", "&*", "-@all", "+publish", "+psubscribe")
	stranger := func() *resp.Conn {
		c, err := resp.Dial("tcp", server.Addr(), "", "", time.Minute)
		testkit.Must(t, err)
		t.Cleanup(func() { c.Close() })
		testkit.Must(t, c.Do("AUTH", "stranger", "secret").Err())
		return c
	}
	publisher := stranger()
	a, b := testkit.Connect(t, server.Addr()), testkit.Connect(t, server.Addr())
	held := testkit.MustLock(t, b.FencedMutex("x"))
	for _, next := range []*engine.Engine{a, b, a, b} {
		waiting := next.FencedMutex("x").LockAsync(testkit.Soon(t))
		channel := scripts.Inbox(scripts.LockChannel("x"), next.ID())
		redistest.Await(t, "a place", func() bool { return testkit.InLine(server, "x") == 1 })
		listener := stranger()
		testkit.Must(t, listener.Do("PSUBSCRIBE", channel).Err())
		testkit.MustUnlock(t, held)
		heard := listener.Read().Texts()
		said := heard[len(heard)-1]
		if !regexp.MustCompile(`^([01]|-[1-9][0-9]{18})$`).MatchString(said) {
			t.Errorf("the release said %q, want 0, 1 or a code", said)
		}
		publisher.Do("PUBLISH", channel, "-1000000000000000000")
		publisher.Do("PUBLISH", channel, said)
		var err error
		if held, err = waiting.Wait(testkit.Soon(t)); err != nil {
			t.Fatal(err)
		}
		token, _ := held.Token()
		if made := server.MustDo("GET", scripts.TokenKey("x")).Text; made != strconv.FormatInt(token+gate.TokenBlock-1, 10) {
			t.Errorf("the hold has token %d, and Redis made those up to %s", token, made)
		}
	}
	testkit.MustUnlock(t, held)
}
