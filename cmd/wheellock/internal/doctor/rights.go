package doctor

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"

	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/wheel"
)

// rights runs every command that the engine needs, as the engine does when it opens.
func rights(n *node) (all []Finding) {
	defer func() { n.unfit = all != nil }()
	const harm = "The engine does not open."
	ctx, stop := context.WithTimeout(n.ctx, askTime)
	defer stop()
	var missing *redisconn.Missing
	loaded, err := redisconn.Load(ctx, n.client, wheel.NewClock())
	if err == nil {
		missing, err = (&redisconn.Rights{Client: n.client, Loaded: loaded, UUID: rand.Text(), Publish: n.publish(), Cluster: n.isCluster()}).Find(ctx)
	}
	switch { // TIME, SCRIPT LOAD or EVAL, which the error begins with: without it the rest cannot be tried
	case rediserr.MayNotRun(err):
		missing = &redisconn.Missing{Refused: []string{commandOf(err)}}
	case rediserr.IsAbsent(err):
		missing = &redisconn.Missing{Absent: []string{commandOf(err)}}
	case err != nil:
		n.failed("EVAL", err)
		return nil
	}
	var f findings
	if len(missing.Refused) > 0 {
		f.add(Error, "this user may not run "+strings.Join(missing.Refused, ", "), harm, n.grant(missing.Refused...))
	}
	if len(missing.Absent) > 0 {
		f.add(Error, "the server does not have "+strings.Join(missing.Absent, ", "), harm,
			"delete their lines rename-command from redis.conf; if there are none, the server or a proxy does not support them: use another")
	}
	return f
}

// commandOf is the command that an error begins with, as ACL SETUSER names it.
func commandOf(err error) string {
	name, _, _ := strings.Cut(err.Error(), ":")
	return strings.ReplaceAll(strings.ToLower(name), " ", "|")
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
