package doctor

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/wheellock/wheellock/dispatcher/redisconn"
)

// rights runs every command that the engine needs, as the engine does when it opens.
func rights(n *node) (all []Finding) {
	defer func() { n.unfit = all != nil }()
	const harm = "The engine does not open."
	ctx, stop := context.WithTimeout(n.ctx, askTime)
	defer stop()
	missing, err := (&redisconn.Rights{Client: n.client, Key: "wheellock:probe:" + rand.Text(), UUID: rand.Text(), Publish: n.publish(), Cluster: n.isCluster()}).Find(ctx)
	if err != nil {
		n.err = err
		return nil
	}
	var f findings
	if len(missing.Refused) > 0 {
		what := "this user may not run " + strings.Join(missing.Refused, ", ")
		if missing.Untried != nil {
			what += "; what scripts run cannot be tried without eval"
		}
		f.add(Error, what, harm, n.grant(slices.Concat(missing.Refused, missing.Untried)...))
	}
	if len(missing.Absent) > 0 {
		f.add(Error, "the server does not have "+strings.Join(missing.Absent, ", "), harm,
			"delete their lines rename-command from redis.conf; if there are none, the server or a proxy does not support them: use another")
	}
	return f
}

// grant is the command that grants our user commands.
func (n *node) grant(commands ...string) string {
	return "ACL SETUSER " + cmp.Or(n.opts.Redis.Username, "default") + " +" + strings.Join(commands, " +")
}

// publish is how the engine publishes at this server.
func (n *node) publish() string {
	if n.isCluster() {
		if sharded, _ := redisconn.Sharded(n.ctx, n.client); sharded {
			return "SPUBLISH"
		}
	}
	return "PUBLISH"
}
