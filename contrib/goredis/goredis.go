// Package goredis makes the options of an engine from a client of github.com/redis/go-redis/v9, for programs that have such a client
// already:
//
//	opts, err := goredis.Options(client)
//	...
//	e, err := engine.Open(ctx, opts)
//
// The engine gets the client's addresses, TLS, credentials, database and dialer, so locks are in the same Redis as the program's data. It
// does not get the client's connections: it makes a few of its own, because it needs some that no other command holds up, or renewals of
// locks would be late. So the pool is not shared, its limits do not count for the engine, and each of the two is closed by itself.
package goredis

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"reflect"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/auth"
	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
)

// Options returns the options of an engine that works on the Redis of client: a *redis.Client or a *redis.ClusterClient. It asks nobody.
// Every field of the result may be changed before it is given to [engine.Open].
//
// Taken over are Network, Addr or Addrs, TLSConfig, Username, Password and every kind of credentials provider, DB, ClientName, a Protocol
// of 2 and a Dialer. As in go-redis, a user without a password does not count. A provider is asked whenever the engine makes a connection;
// what a StreamingCredentialsProvider says later counts for later connections. A Dialer of one's own is called with the engine's time-out
// in place of DialTimeout. One that redis.NewDialer has made may not be told from that of a client without a Dialer, and counts as none
// then: give the client itself the options that it was made with.
//
// Not taken over is what is about the client's pool or its commands: sizes and time-outs, retries, hooks, the Limiter, and where reads go.
//
// The error is [engine.ErrInvalid], and says what to do instead, for
//
//   - a client of Sentinel (NewFailoverClient, NewFailoverClusterClient), which does not show its sentinels;
//   - a Ring, whose servers know nothing of each other, so that a lock would move when the set of servers changes;
//   - a client with OnConnect, NewClient or ClusterSlots, which only go-redis can call;
//   - a ClusterClient without Addrs;
//   - any other UniversalClient, such as an AutoPipeliner, and nil.
func Options(client redis.UniversalClient) (engine.Options, error) {
	switch c := client.(type) {
	case *redis.Client:
		if c != nil {
			return single(c.Options())
		}
	case *redis.ClusterClient:
		if c != nil {
			return cluster(c.Options())
		}
	case *redis.Ring:
		return invalid("a Ring: its servers know nothing of each other, and a lock would move when the set of servers changes. " +
			"Make a client of one of the servers, or of a Redis Cluster, for locks")
	}
	return invalid("a client of type %T: its options cannot be read. Give the *redis.Client or *redis.ClusterClient behind it, "+
		"or fill in engine.Options.Redis", client)
}

func invalid(format string, args ...any) (engine.Options, error) {
	return engine.Options{}, fmt.Errorf("%w: goredis: "+format, append([]any{engine.ErrInvalid}, args...)...)
}

// sentinel is what to do about a client of Sentinel.
const sentinel = "a client of Sentinel does not show its sentinels. Set engine.Options.Redis: InitAddress to the sentinels' addresses, " +
	"Sentinel.MasterSet to the master's name, Username and Password to those of the master, Sentinel.Username and Sentinel.Password " +
	"to those of the sentinels"

// onConnect is what to do about a hook for new connections.
const onConnect = "OnConnect is set: go-redis calls it with connections of its own, and the engine has others. " +
	"Give a client without it, whose options say what it does"

func single(o *redis.Options) (engine.Options, error) {
	switch {
	case o.Addr == "FailoverClient": // as NewFailoverClient names its server
		return invalid(sentinel)
	case o.OnConnect != nil:
		return invalid(onConnect)
	}
	dial := o.Dialer
	if isDefault(dial) {
		dial = nil
	}
	return options([]string{o.Addr}, o, dial), nil
}

func cluster(o *redis.ClusterOptions) (engine.Options, error) {
	switch {
	case o.ClusterSlots != nil && len(o.Addrs) == 0: // as NewFailoverClusterClient makes it
		return invalid(sentinel)
	case o.ClusterSlots != nil:
		return invalid("ClusterSlots is set: the engine asks the servers who serves which hash slot. Give a client without it")
	case o.OnConnect != nil:
		return invalid(onConnect)
	case reflect.ValueOf(o.NewClient).Pointer() != reflect.ValueOf(redis.NewClient).Pointer():
		return invalid("NewClient is set: it may give each server other options, and the engine has one set of them. Give a client without it")
	case len(o.Addrs) == 0: // go-redis has no default, and the engine's is a local server
		return invalid("Addrs is empty: the client has no cluster")
	}
	return options(o.Addrs, &redis.Options{
		Network: "tcp", ClientName: o.ClientName, Protocol: o.Protocol, TLSConfig: o.TLSConfig, Username: o.Username, Password: o.Password,
		CredentialsProvider: o.CredentialsProvider, CredentialsProviderContext: o.CredentialsProviderContext,
		StreamingCredentialsProvider: o.StreamingCredentialsProvider,
	}, o.Dialer), nil
}

// dialer is how go-redis makes a connection.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// options returns the options for those addresses. dial is the user's own; nil: there is none.
func options(addrs []string, o *redis.Options, dial dialer) engine.Options {
	static := sent(o.Username, o.Password)
	r := rueidis.ClientOption{
		InitAddress: slices.Clone(addrs), ClientName: o.ClientName, SelectDB: o.DB, AlwaysRESP2: o.Protocol == 2,
		Username: static.Username, Password: static.Password, AuthCredentialsFn: credentials(o),
	}
	if o.TLSConfig != nil {
		r.TLSConfig = o.TLSConfig.Clone()
	}
	switch {
	case dial != nil: // it makes the connection as it is used, TLS included
		r.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, d.Timeout)
			defer cancel()
			return dial(ctx, o.Network, addr)
		}
	case o.Network != "tcp":
		r.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, config *tls.Config) (net.Conn, error) {
			if config != nil {
				return (&tls.Dialer{NetDialer: d, Config: config}).DialContext(ctx, o.Network, addr)
			}
			return d.DialContext(ctx, o.Network, addr)
		}
	}
	return engine.Options{Redis: r}
}

// isDefault reports whether go-redis made the dialer, because none was set: then the engine's own will do, which is told of TLS and
// time-outs. It compares with the code of the dialer that a client gets without one. The name of the function would not do: a user's may
// have the same, and it depends on how the compiler inlines. A dialer of go-redis that is not recognized is used as one of the user's.
func isDefault(d dialer) bool {
	bare := redis.NewClient(&redis.Options{}) // makes no connection
	defer bare.Close()
	return reflect.ValueOf(d).Pointer() == reflect.ValueOf(bare.Options().Dialer).Pointer()
}

// credentials returns who asks the client's provider of credentials, or nil if it has none. Of several, go-redis asks the same.
func credentials(o *redis.Options) func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
	var ask func(ctx context.Context) (user, password string, err error)
	switch {
	case o.StreamingCredentialsProvider != nil:
		ask = func(context.Context) (user, password string, err error) {
			now, stop, err := o.StreamingCredentialsProvider.Subscribe(&onlyNow{})
			if err != nil {
				return "", "", err
			}
			_ = stop() // what it may fail at is of no use to a new connection
			user, password = now.BasicAuth()
			return user, password, nil
		}
	case o.CredentialsProviderContext != nil:
		ask = o.CredentialsProviderContext
	case o.CredentialsProvider != nil:
		ask = func(context.Context) (user, password string, err error) {
			user, password = o.CredentialsProvider()
			return user, password, nil
		}
	default:
		return nil
	}
	return func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		ctx, cancel := context.WithTimeout(context.Background(), providerTime)
		defer cancel()
		user, password, err := ask(ctx)
		return sent(user, password), err
	}
}

// sent are the credentials that go-redis sends: none if there is no password, also with a user.
func sent(user, password string) rueidis.AuthCredentials {
	if password == "" {
		return rueidis.AuthCredentials{}
	}
	return rueidis.AuthCredentials{Username: user, Password: password}
}

// providerTime is how long a provider that heeds its context may take: what go-redis has for a connection by default.
const providerTime = 5 * time.Second

// onlyNow listens for credentials that come later, and ignores them: a connection of the engine authenticates once.
type onlyNow struct{ _ byte } // not empty, because listeners are told apart by their addresses

func (*onlyNow) OnNext(auth.Credentials) {}
func (*onlyNow) OnError(error)           {}
