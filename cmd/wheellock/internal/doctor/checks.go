package doctor

import (
	"strings"
	"sync"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
)

// check is one thing that doctor looks at, of each server (node) or of the deployment (all).
type check struct {
	name    string
	asks    string // what it asks Redis
	finds   string // what it finds
	masters bool   // replicas are left out

	node func(*node) []Finding
	all  func(*deployment) ([]Finding, error) // the error: what it could not look at
}

// checks are all checks, in the order in which they are made and told.
var checks = []check{
	{name: "version", asks: "`INFO`, or `HELLO`", finds: "a server that is too old", node: version},
	{name: "rights", asks: "each command of the engine", finds: "commands that are refused, renamed or missing", node: rights, masters: true},
	{name: "locks", asks: "a lock of each kind", finds: "keys or channels that are refused, an engine that does not open", all: locks},
	{name: "eviction", asks: "`INFO`", finds: "a policy by which Redis deletes locks when memory is short", node: eviction},
	{name: "memory", asks: "`INFO`", finds: "memory that is nearly used up", node: memory},
	{name: "persistence", asks: "`INFO`, `CONFIG GET`", finds: "locks that a restart forgets", node: persistence},
	{name: "writes", asks: "`INFO`, `CONFIG GET`", finds: "a disk that fails, so that Redis refuses writes", node: writes},
	{name: "replicas", asks: "`INFO`, `CONFIG GET`", finds: "a master that goes on alone when it is cut off, a replica that is cut off", node: replicas},
	{name: "cluster", asks: "`CLUSTER INFO`, `CLUSTER NODES`", finds: "hash slots that nobody serves or that are on their way, nodes that fail", all: cluster},
	{name: "sentinels", asks: "`SENTINEL MASTER`, `SENTINEL CKQUORUM`", finds: "sentinels that are too few, disagree, or do not answer", all: sentinels},
	{name: "pubsub", asks: "`SUBSCRIBE` and `PUBLISH`, or `SSUBSCRIBE` and `SPUBLISH`", finds: "messages that do not arrive, a proxy that hides subscribers", node: pubsub, masters: true},
	{name: "channels", asks: "`PUBSUB CHANNELS` in a script, in a cluster", finds: "subscribers of channels that engines do not publish on", node: channels},
	{name: "scripts", asks: "`SCRIPT LOAD`, `EVALSHA`, `INFO commandstats`", finds: "scripts that are forgotten, or were by SCRIPT FLUSH", node: scriptCache, masters: true},
	{name: "slots", asks: "`EVAL` with keys of two hash slots", finds: "a cluster that shows itself as one server, a node that refuses keys which are not declared, or every script", node: slots, masters: true},
	{name: "clock", asks: "`TIME`", finds: "steps of the server's clock, a difference to ours", node: clock, masters: true},
	{name: "latency", asks: "`TIME`, `EVALSHA`", finds: "round trips that are long for the lease", node: latency, masters: true},
	{name: "clients", asks: "`INFO`, `CONFIG GET`", finds: "few connections left under maxclients", node: clients},
	{name: "timeouts", asks: "`CONFIG GET`", finds: "idle connections that are closed, dead ones that are kept", node: timeouts},
}

// help is what -h says of doctor.
func help() string {
	var b strings.Builder
	b.WriteString(`
It tells of each finding how bad it is, what it does to locks, and what to set. CONFIG REWRITE writes what CONFIG SET has changed
into redis.conf. What the server does not tell this user is said as "could not look", never as ok.

In a cluster it looks at each node, with Sentinel at the master and its replicas. It writes what an engine writes when it opens, and
takes and frees locks of a name of its own.

Exit code: 0 nothing above a note; 1 warnings; 2 errors. "could not look" changes no exit code.

  wheellock doctor redis://redis-1:6379
  wheellock doctor --lease 10s --prefix app: --json | jq '.findings[]'

The checks, and what they find:

`)
	for _, c := range checks {
		b.WriteString(cli.Entry(c.name, c.finds))
	}
	return b.String()
}

// check makes all checks: of the servers at the same time, then of the deployment.
func (d *deployment) check() (all []Finding) {
	of := make([][]Finding, len(d.nodes))
	var wg sync.WaitGroup
	for i, n := range d.nodes {
		wg.Go(func() { of[i] = n.check() })
	}
	wg.Wait()
	for i, n := range d.nodes {
		all = append(all, at(n.addr, of[i])...)
	}
	for _, c := range checks {
		if c.all != nil {
			findings, err := c.all(d)
			if err != nil {
				findings = append(findings, found(Unknown, err.Error(), "")...)
			}
			all = append(all, named(c.name, findings)...)
		}
	}
	return all
}

// check makes the checks of one server.
func (n *node) check() (all []Finding) {
	if err := n.do("PING").Error(); gone(err) {
		severity, harm := Error, "Locks that this server has can be neither taken nor renewed, and holders lose them."
		if n.replica {
			severity, harm = Warning, "This server cannot take over from its master."
		}
		return named("connection", found(severity, "it does not answer: "+err.Error(), harm))
	}
	for _, c := range checks {
		if c.node == nil || c.masters && n.replica {
			continue
		}
		n.err = nil
		findings := c.node(n)
		if n.err != nil {
			findings = found(Unknown, n.err.Error(), "")
		}
		all = append(all, named(c.name, findings)...)
	}
	return all
}

// named is the findings under the check's name. Nothing found is ok.
func named(name string, findings []Finding) []Finding {
	if len(findings) == 0 {
		findings = fine("")
	}
	for i := range findings {
		findings[i].Check = name
	}
	return findings
}
