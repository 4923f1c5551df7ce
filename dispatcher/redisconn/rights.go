package redisconn

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/scripts"
)

// Rights finds out which commands a user may not run, or the server does not have, by running each on a key and a
// channel that nobody uses. It cannot find out rights to keys and channels, because no names are known yet.
type Rights struct {
	Client   rueidis.Client
	Key      string // that nobody uses, in a hash slot of the server's own
	UUID     string // the engine's
	Publish  string // PUBLISH, SPUBLISH or BOTH
	Cluster  bool
	Replicas int  // how many replicas are waited for
	Fsync    bool // whether the disk is

	Declared bool // no script may touch a key that its call does not declare
}

// Missing is what the engine needs and cannot run, by name.
type Missing struct {
	Refused []string // this user may not
	Untried []string // what scripts run, if this user may not run EVAL
	Absent  []string // the server has no such command: it was renamed, or is not supported
	Disk    string   // what the server says to Fsync; empty: it can
}

// Err names what is missing; nil: nothing is.
func (m *Missing) Err() error {
	var complaints []string
	if len(m.Refused) > 0 {
		complaint := "this user may not run what the engine needs: grant +" + strings.Join(m.Refused, " +")
		if m.Untried != nil {
			complaint += ", and for the scripts, which cannot be tried without EVAL, +" + strings.Join(m.Untried, " +")
		}
		complaints = append(complaints, complaint)
	}
	if len(m.Absent) > 0 {
		complaints = append(complaints, "the server does not have what the engine needs: "+strings.Join(m.Absent, ", ")+" ("+rediserr.WhyAbsent+")")
	}
	if complaints == nil {
		return nil
	}
	return errors.New(strings.Join(complaints, "; "))
}

// note notes what the answer to a command says about it.
func (m *Missing) note(name string, err error) {
	switch {
	case rediserr.MayNotRun(err):
		m.Refused = append(m.Refused, name)
	case rediserr.IsAbsent(err):
		m.Absent = append(m.Absent, name)
	}
}

// Find finds what is missing.
func (r *Rights) Find(ctx context.Context) (*Missing, error) {
	key, channel := r.Key, scripts.LockChannel("wheellock:probe:"+r.UUID)
	b := r.Client.B()
	probe := b.Eval().Script(scripts.Rights.Text).Numkeys(0).Arg(key, channel, r.Publish).Build()
	if r.Declared {
		probe = b.Eval().Script(scripts.Rights.Text).Numkeys(1).Key(key).Arg(key, channel, r.Publish).Build()
	}
	inside, err := r.Client.Do(ctx, probe).ToString()
	if message, _ := rediserr.Said(err); r.Declared && strings.HasPrefix(message, "NOPERM") && !rediserr.MayNotRun(err) {
		inside, err = "", nil // the user may not use this key: which commands it may run is seen at names that it may
	}
	m := &Missing{}
	switch m.note("eval", err); {
	case m.Refused != nil:
		inside, m.Untried = "", scripts.Tried(r.Publish)
	case m.Absent != nil:
		inside = ""
	case err != nil:
		return nil, fmt.Errorf("EVAL: %w", err)
	}
	for _, name := range strings.Fields(inside) {
		if absent, is := strings.CutPrefix(name, "?"); is {
			m.Absent = append(m.Absent, absent)
		} else {
			m.Refused = append(m.Refused, name)
		}
	}
	try := m.note
	digest, err := r.Client.Do(ctx, b.ScriptLoad().Script("return 1").Build()).ToString()
	try("script|load", err)
	try("evalsha", r.Client.Do(ctx, b.Evalsha().Sha1(digest).Numkeys(0).Build()).Error())
	if r.Cluster { // CLUSTER SLOTS has been asked before
		try("asking", r.Client.Do(ctx, b.Asking().Build()).Error())
	}
	if r.Replicas == AllReplicas {
		try("role", r.Client.Do(ctx, b.Role().Build()).Error())
	}
	if r.Replicas != 0 {
		try("wait", r.Client.Do(ctx, b.Arbitrary("WAIT", "0", "1").Build()).Error())
	}
	if r.Fsync {
		err := r.Client.Do(ctx, b.Arbitrary("WAITAOF", "1", "0", "1").Build()).Error()
		try("waitaof", err)
		if !rediserr.MayNotRun(err) && !rediserr.IsAbsent(err) {
			m.Disk, _ = rediserr.Said(err)
		}
	}
	// The client sends PING to see whether the server answers, and a refusal is an answer, too.
	if err := r.Client.Do(ctx, b.Ping().Build()).Error(); rediserr.IsAbsent(err) {
		try("ping", err)
	}
	r.checkListening(ctx, channel, try)
	return m, nil
}

// checkListening tries to subscribe, on a connection of its own as the subscriber has one.
func (r *Rights) checkListening(ctx context.Context, channel string, try func(string, error)) {
	conn, release := r.Client.Dedicate()
	defer release()
	defer conn.Close()
	b := conn.B()
	if r.Publish != "SPUBLISH" {
		try("subscribe", conn.Do(ctx, b.Subscribe().Channel(channel).Build()).Error())
		try("unsubscribe", conn.Do(ctx, b.Unsubscribe().Channel(channel).Build()).Error())
	}
	if r.Publish != "PUBLISH" {
		try("ssubscribe", conn.Do(ctx, b.Ssubscribe().Channel(channel).Build()).Error())
		try("sunsubscribe", conn.Do(ctx, b.Sunsubscribe().Channel(channel).Build()).Error())
	}
}

// Sharded asks a node whether it has sharded channels. Not known: it did not answer.
func Sharded(ctx context.Context, node rueidis.Client) (sharded, known bool) {
	err := node.Do(ctx, node.B().PubsubShardnumsub().Build()).Error()
	message, said := rediserr.Said(err)
	if err == nil || strings.HasPrefix(message, "NOPERM") { // which Rights then names
		return true, true
	}
	return false, said
}
