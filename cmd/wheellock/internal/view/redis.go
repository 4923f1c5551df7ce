package view

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/respguard"
	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/engine"
)

// redis is a connection for commands that only look: it needs no right but to read.
type redis struct {
	rueidis.Client
	options  rueidis.ClientOption
	place    string           // for people, without secrets
	masters  []master         // the server, or the masters of a cluster, as far as they answer
	unasked  map[string]error // why others do not, by their addresses
	unread   int              // keys that this user may not read
	unserved int              // hash slots of a cluster that cannot be looked at
	simple   bool             // every string is taken for a simple lock
	nameless bool             // this user may not know the identities of holders
}

// kind is the flag --kind.
type kind string

func (k *kind) define(flags *flag.FlagSet) {
	flags.Func("kind", "take strings for simple locks: `KIND` is simple. Without it only those of engines are, because\nthose of other libraries look like any value", func(text string) error {
		if text != string(engine.KindSimple) {
			return fmt.Errorf("want %s: other kinds are found by their keys", engine.KindSimple)
		}
		*k = kind(text)
		return nil
	})
}

// dial connects, and finds out whether this user may look: mayLook, or mayLookAtOne.
func dial(ctx context.Context, env *cli.Env, k kind, may func(*redis, context.Context) error, change ...func(*rueidis.ClientOption)) (*redis, error) {
	r, err := connect(ctx, env, k, change...)
	if err == nil {
		if err = may(r, ctx); err != nil {
			r.Close()
		}
	}
	return r, err
}

func connect(ctx context.Context, env *cli.Env, k kind, change ...func(*rueidis.ClientOption)) (*redis, error) {
	o, err := env.Options(ctx)
	if err != nil {
		return nil, err
	}
	c := o.Redis
	r := &redis{place: strings.Join(c.InitAddress, ", "), simple: k != ""}
	c.DisableCache, c.DisableRetry, c.AlwaysPipelining, c.PipelineMultiplex = true, true, true, -1
	c.ClusterOption.MaxMovedRedirections = topology.MaxRedirects
	if c.ConnWriteTimeout == 0 {
		c.ConnWriteTimeout = 5 * time.Second
	}
	if c.Dialer.Timeout == 0 {
		c.Dialer.Timeout = 1500 * time.Millisecond // an engine's
	}
	for _, change := range change {
		change(&c)
	}
	respguard.Guard(&c) // no server can end the process
	r.options = c
	dialled := make(chan error, 1)
	go func() {
		var err error
		r.Client, err = reach(ctx, c)
		dialled <- err
	}()
	select {
	case err = <-dialled:
	case <-ctx.Done(): // the process is about to end, and the client with it
		err = ctx.Err()
	}
	if err != nil {
		if ctx.Err() == nil { // an engine says what to do about it
			if e, why := env.Open(ctx, func(*engine.Options) {}); why != nil {
				return nil, why
			} else if err := e.Close(); err != nil {
				return nil, err
			}
		}
		return nil, fmt.Errorf("connecting to %s: %w", r.place, unavailable(err))
	}
	if masters, is := topology.AtSentinel(ctx, r.Client); is {
		r.Close()
		return nil, unavailable(fmt.Errorf("%s is a Sentinel: add ?master_set=NAME to the URL (it knows %s)", r.place, strings.Join(masters, ", ")))
	}
	if err := r.findMasters(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// looks are the commands without which nothing true can be said of a lock. An engine has the right to them (SECURITY.md), and to
// looksAtAll, which does the work of the second of searches where that is refused. Who looks for locks needs searches.
var (
	looks = []string{
		"HGET k f", "HMGET k f", "HLEN k", "PTTL k", "TYPE k", "GET k", "LLEN k", "LRANGE k 0 0", "ZCARD k", "ZRANGE k 0 0",
	}
	looksAtAll = "HGETALL k"
	searches   = []string{"SCAN 0", "HSCAN k 0", "GETRANGE k 0 0"}
)

// mayLook returns an error that names all commands that this user may not run and that it takes to look for locks.
func (r *redis) mayLook(ctx context.Context) error {
	return lacking(r.refused(ctx, slices.Concat(searches, looks)...))
}

// mayLookAtOne does so for the commands that it takes to look at one lock.
func (r *redis) mayLookAtOne(ctx context.Context) error {
	refused := r.refused(ctx, looks...)
	if r.refused(ctx, searches[1]) != nil {
		refused = append(refused, r.refused(ctx, looksAtAll)...)
	}
	return lacking(refused)
}

// refused returns the names of the commands that this user may not run.
func (r *redis) refused(ctx context.Context, commands ...string) (refused []string) {
	for _, node := range r.masters {
		var ask rueidis.Commands
		for _, command := range commands {
			ask = append(ask, node.B().Arbitrary(strings.Fields(strings.Replace(command, " k", " wheellock:probe", 1))...).Build())
		}
		for i, answer := range node.DoMulti(ctx, ask...) {
			name, _, _ := strings.Cut(strings.ToLower(commands[i]), " ")
			if rediserr.MayNotRun(answer.Error()) && !slices.Contains(refused, name) {
				refused = append(refused, name)
			}
		}
	}
	return refused
}

// lacking is the error of a user who may not run these commands; nil: there are none.
func lacking(refused []string) error {
	if refused == nil {
		return nil
	}
	return unavailable(fmt.Errorf("refused by Redis: this user may not run what it takes to look at locks: grant +%s", strings.Join(refused, " +")))
}

// unavailable makes an error of the client one of the group engine.ErrUnavailable.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return &failure{rediserr.Silent(err, "Redis", 0)}
}

type failure struct{ error }

func (f *failure) Unwrap() []error { return []error{f.error, engine.ErrUnavailable} }

// subscribers returns how many clients listen to each channel, plain or sharded; nil: this user may not ask.
func (r *redis) subscribers(ctx context.Context, channels []string) map[string]int64 {
	sums := make(map[string]int64, len(channels))
	for _, node := range r.masters {
		plain := node.B().PubsubNumsub().Channel(channels...).Build()
		sharded := node.B().Arbitrary("PUBSUB", "SHARDNUMSUB").Args(channels...).Build() // an error where there are no sharded channels
		answers := node.DoMulti(ctx, plain, sharded)
		if rediserr.MayNotRun(answers[0].Error()) || r.Mode() == rueidis.ClientModeCluster && rediserr.MayNotRun(answers[1].Error()) {
			return nil
		}
		for _, answer := range answers {
			counts, _ := answer.AsIntMap()
			for channel, n := range counts {
				sums[channel] += n
			}
		}
	}
	return sums
}

// What follows a lock's channel for one place in the queue of a fair lock, and for the inbox of one engine (scripts.FairChannel and
// scripts.Inbox), as PUBSUB has patterns.
const (
	uuids = "????????-????-????-????-????????????"
	place = ":" + uuids + ":*"
	inbox = ":wheellock:" + uuids
)

// waitedFor returns the names that match a pattern and have channels to which somebody listens. A name may be none that is held. They
// are not all if this user or a master may not be asked, or if they are more than a reply may have.
func (r *redis) waitedFor(ctx context.Context, pattern string) (found []string, all bool) {
	names := make(map[string]bool)
	all = len(r.unasked) == 0
	ask := func(node rueidis.Client, before, after string) { // the pattern stands between: scripts.PrefixName
		for _, list := range []string{"CHANNELS", "SHARDCHANNELS"} { // the second is an error where there are no sharded channels
			for _, behind := range []string{after, after + place, after + inbox} {
				channels, err := node.Do(ctx, node.B().Arbitrary("PUBSUB", list).Args(before+pattern+behind).Build()).AsStrSlice()
				if _, said := rediserr.Said(err); err != nil && (list == "CHANNELS" || !said) {
					all = false
				}
				for _, channel := range channels {
					name := strings.TrimPrefix(ofOne.ReplaceAllString(channel, ""), before)
					names[strings.TrimSuffix(name, after)] = true
				}
			}
		}
	}
	for _, node := range r.masters {
		for _, prefix := range []string{"redisson_lock__channel:", "redisson_rwlock:"} { // of scripts.LockChannel and RWChannel
			ask(node, prefix+"{", "}")
			ask(node, prefix, "")
		}
	}
	return slices.Collect(maps.Keys(names)), all
}

// ofOne is what place and inbox are in the name of a channel.
var ofOne = regexp.MustCompile(`:(wheellock:[0-9a-f-]{36}|[0-9a-f-]{36}:[0-9]+)$`)

// client is an engine that is connected.
type client struct {
	identity, address string
	since             time.Time
}

// engineName is the name of an engine's connection: see engine.Options.Identity.
var engineName = regexp.MustCompile(`/([0-9a-f-]{36})/(.+)$`)

// clients lists the engines by their ids, each with its oldest connection. There are none if the user may not ask.
func (r *redis) clients(ctx context.Context) map[string]client {
	found := make(map[string]client)
	for _, node := range r.masters {
		list, err := node.Do(ctx, node.B().Arbitrary("CLIENT", "LIST", "TYPE", "NORMAL").Build()).ToString()
		r.nameless = r.nameless || rediserr.Lacking(err)
		now := time.Now()
		for line := range strings.Lines(list) {
			fields := make(map[string]string)
			for word := range strings.FieldsSeq(line) {
				key, value, _ := strings.Cut(word, "=")
				fields[key] = value
			}
			name := engineName.FindStringSubmatch(fields["name"])
			if name == nil {
				continue
			}
			age, _ := strconv.ParseInt(fields["age"], 10, 64)
			c := client{name[2], fields["addr"], now.Add(-time.Duration(age) * time.Second).Truncate(time.Second)}
			if before, known := found[name[1]]; !known || c.since.Before(before.since) {
				found[name[1]] = c
			}
		}
	}
	return found
}
