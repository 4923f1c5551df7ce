package dispatcher

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/scripts"
)

// Rights finds out which commands a user may not run, by running each on a key and a channel that nobody
// uses. Rights to keys and channels it cannot see: names are not known yet.
type Rights struct {
	Client  rueidis.Client
	Loaded  *Loaded
	UUID    string // the engine's
	Publish string // PUBLISH, SPUBLISH or BOTH
	Cluster bool
	Wait    bool // whether replicas are waited for

	Declared bool // no script may touch a key that its call does not declare
}

// Missing names what the engine needs and this user may not run.
func (r *Rights) Missing(ctx context.Context) ([]string, error) {
	key, channel := "wheellock:probe:{"+r.UUID+"}", scripts.LockChannel("wheellock:probe:"+r.UUID)
	b := r.Client.B()
	probe := b.Eval().Script(scripts.Rights.Text).Numkeys(0).Arg(key, channel, r.Publish).Build()
	if r.Declared {
		probe = b.Eval().Script(scripts.Rights.Text).Numkeys(1).Key(key).Arg(key, channel, r.Publish).Build()
	}
	inside, err := r.Client.Do(ctx, probe).ToString()
	if words, _ := Said(err); r.Declared && strings.HasPrefix(words, "NOPERM") && !mayNotRun(err) {
		inside, err = "", nil // the user may not use this key: which commands it may run is seen at names that it may
	}
	if err != nil {
		return nil, fmt.Errorf("EVAL: %w", err)
	}
	missing := strings.Fields(inside)
	try := func(name string, err error) {
		if mayNotRun(err) {
			missing = append(missing, name)
		}
	}
	// An acquire of nothing that comes too late: the script looks at the clock and answers.
	try("evalsha", r.Client.Do(ctx, b.Evalsha().Sha1(r.Loaded.digests[gate.Acquire]).Numkeys(0).Arg("1").Build()).Error())
	if r.Cluster { // CLUSTER SLOTS has been asked before
		try("asking", r.Client.Do(ctx, b.Asking().Build()).Error())
	}
	if r.Wait {
		try("wait", r.Client.Do(ctx, b.Arbitrary("WAIT", "0", "1").Build()).Error())
	}
	r.listening(ctx, channel, try)
	return missing, nil
}

// listening tries what the ear does, on a connection of its own as it has one.
func (r *Rights) listening(ctx context.Context, channel string, try func(string, error)) {
	conn, release := r.Client.Dedicate()
	defer release()
	defer conn.Close()
	channels := []string{channel}
	if r.Publish != "SPUBLISH" {
		try("subscribe", conn.Do(ctx, subscribe(conn.B(), channels)).Error())
		try("unsubscribe", conn.Do(ctx, unsubscribe(conn.B(), channels)).Error())
	}
	if r.Publish != "PUBLISH" {
		try("ssubscribe", conn.Do(ctx, ssubscribe(conn.B(), channels)).Error())
		try("sunsubscribe", conn.Do(ctx, sunsubscribe(conn.B(), channels)).Error())
	}
}

// mayNotRun reports whether the server refused a command as such. The words are those of Redis 6 to 8.
func mayNotRun(err error) bool {
	words, ok := Said(err)
	return ok && strings.HasPrefix(words, "NOPERM") && strings.Contains(words, "permissions to run")
}
