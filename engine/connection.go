package engine

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/respguard"
	"github.com/wheellock/wheellock/dispatcher/topology"
)

// honoured are the fields of rueidis.ClientOption that users may set.
var honoured = map[string]bool{
	"InitAddress": true, "Username": true, "Password": true, "AuthCredentialsFn": true, "SelectDB": true,
	"ClientName": true, "TLSConfig": true, "Dialer": true, "DialCtxFn": true, "DialFn": true, "ConnWriteTimeout": true,
	"Sentinel": true, "AlwaysRESP2": true, "ShuffleInit": true, "AlwaysPipelining": true, "ForceSingleClient": true, "DisableCache": true, "DisableRetry": true,
}

// connection checks the connection's options and fills in the engine's own.
func (o *Options) connection() error {
	r := &o.Redis
	var complaints []error
	settings := reflect.ValueOf(*r)
	for i := range settings.NumField() {
		if field := settings.Type().Field(i).Name; !honoured[field] && !settings.Field(i).IsZero() {
			complaints = append(complaints, invalid("Redis.%s is set: the engine depends on its own value", field))
		}
	}
	if len(r.InitAddress) == 0 {
		r.InitAddress = []string{"127.0.0.1:6379"}
	}
	if strings.Contains(strings.Join(r.InitAddress, " "), "://") { // which is not quoted: it may contain a password
		complaints = append(complaints, invalid("Redis.InitAddress has a URL: want host:port; ParseURL makes Options of a URL"))
	}
	if r.ForceSingleClient && r.Sentinel.MasterSet == "" && len(r.InitAddress) > 1 {
		complaints = append(complaints, invalid("Redis.ForceSingleClient with %d addresses: it would use the first alone", len(r.InitAddress)))
	}
	if r.ClientName == "" {
		r.ClientName = "wheellock"
	}
	r.PipelineMultiplex = -1
	r.DisableCache = true
	r.DisableRetry = true // the engine alone decides what is sent twice
	r.ClusterOption.MaxMovedRedirections = topology.MaxRedirects
	r.BlockingPipeline = -1
	r.BlockingPoolSize = math.MaxInt32 // of 1,024, observers of elections could take all, and leave locks none
	r.RingScaleEachConn = 8
	r.ReadBufferEachConn, r.WriteBufferEachConn = 128<<10, 128<<10
	respguard.Guard(r)
	if r.Sentinel.MasterSet != "" && r.Sentinel.TopologyRefreshInterval == 0 {
		r.Sentinel.TopologyRefreshInterval = sentinelRefresh
	}
	if o.WatchLoss && r.AlwaysRESP2 {
		complaints = append(complaints, invalid("WatchLoss with Redis.AlwaysRESP2: the server tells of lost keys by RESP3"))
	}
	complaints = append(complaints, o.timeouts())
	return errors.Join(complaints...)
}

// sentinelRefresh is how often the engine asks the sentinels for the master, in case their message of a change is lost: an old
// master that lives on breaks no connection.
const sentinelRefresh = 2 * time.Second

// timeouts derives how soon a dead connection must be found: two keep-alive intervals and a write time-out
// fit into a third of the lease, so that one renewal can fail and the next still be in time.
func (o *Options) timeouts() error {
	r := &o.Redis
	budget := o.Lease / 3
	if r.Dialer.Timeout == 0 {
		r.Dialer.Timeout = 1500 * time.Millisecond
	}
	if r.Dialer.KeepAlive == 0 {
		r.Dialer.KeepAlive = min(time.Second, budget/8)
	}
	if r.ConnWriteTimeout == 0 {
		r.ConnWriteTimeout = min(2*time.Second, budget*3/4)
	}
	if min(r.Dialer.Timeout, r.Dialer.KeepAlive, r.ConnWriteTimeout) < 0 {
		return invalid("Redis.Dialer.Timeout %v, Redis.Dialer.KeepAlive %v and Redis.ConnWriteTimeout %v: must not be negative",
			r.Dialer.Timeout, r.Dialer.KeepAlive, r.ConnWriteTimeout)
	}
	if r.Dialer.KeepAlive > (budget-r.ConnWriteTimeout)/2 {
		return invalid("Redis.Dialer.KeepAlive %v and Redis.ConnWriteTimeout %v: twice the first and the second together must not exceed a third of Lease, %v",
			r.Dialer.KeepAlive, r.ConnWriteTimeout, budget)
	}
	return nil
}

// replicaTime is how long replicas have to get what is granted or renewed: far less than a third of the lease, in which
// a renewal must come through, and less than a connection may be silent before it counts as dead.
func (o *Options) replicaTime() time.Duration {
	return max(min(o.Lease/10, o.Redis.ConnWriteTimeout/2, time.Second), time.Millisecond)
}

// mostFsync is how long the disk may have at most, after the replicas: a connection that is silent for ConnWriteTimeout counts as
// dead.
func (o *Options) mostFsync() time.Duration {
	most := o.Redis.ConnWriteTimeout * 3 / 4
	if o.Replicas != 0 {
		most -= o.replicaTime()
	}
	return max(most.Truncate(time.Millisecond), 0)
}

// errCredentials marks what the user's function has said.
var errCredentials = errors.New("Redis.AuthCredentialsFn")

// watchDials has clients with these options dial, ask for credentials and keep connections no longer than over lasts, whatever
// Dialer.Timeout is, whatever functions of the user do meanwhile, and whether a server answers HELLO or not.
func watchDials(o *rueidis.ClientOption, over context.Context) {
	dial, credentials := o.DialCtxFn, o.AuthCredentialsFn
	o.DialCtxFn = func(ctx context.Context, addr string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
		ctx, stop := context.WithCancel(ctx)
		defer context.AfterFunc(over, stop)() // and nothing else ends ctx: a connection of a user's function may live by it
		conn, err := await(ctx, func() (net.Conn, error) { return dial(ctx, addr, dialer, config) }, func(late net.Conn) { late.Close() })
		if err != nil {
			return nil, err
		}
		return &bounded{conn, context.AfterFunc(over, func() { conn.Close() })}, nil
	}
	if credentials == nil {
		return
	}
	o.AuthCredentialsFn = func(to rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		c, err := await(over, func() (rueidis.AuthCredentials, error) { return credentials(to) }, func(rueidis.AuthCredentials) {})
		if err != nil { // nothing was sent
			err = &net.OpError{Op: "dial", Net: "tcp", Addr: to.Address, Err: fmt.Errorf("%w: %w", errCredentials, err)}
		}
		return c, err
	}
}

// bounded is a connection that somebody closes, unless undo is called before.
type bounded struct {
	net.Conn
	undo func() bool
}

func (b *bounded) Close() error {
	b.undo()
	return b.Conn.Close()
}

// connect makes the client. ctx bounds how long that may take.
func connect(ctx context.Context, o rueidis.ClientOption) (rueidis.Client, error) {
	return await(ctx, func() (rueidis.Client, error) { return rueidis.NewClient(o) }, rueidis.Client.Close)
}

// await returns what call returns, or the error of ctx if that ends first: then call is left behind, and drop gets what it returns.
func await[T any](ctx context.Context, call func() (T, error), drop func(T)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	returned := make(chan answer)
	go func() {
		value, err := call()
		select {
		case returned <- answer{value, err}:
		case <-ctx.Done():
			if err == nil {
				drop(value)
			}
		}
	}()
	select {
	case a := <-returned:
		return a.value, a.err
	case <-ctx.Done():
		return *new(T), endedBy(ctx)
	}
}

// errSentinel is the error of Open at a Sentinel that is not asked for a master.
var errSentinel = errors.New("this is a Sentinel")

// privacy returns what to do about a failed TLS handshake; empty: err is something else. refused: the server refused.
func privacy(err error) (hint string, refused bool) {
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "if the server's certificate is what you expect, put who signed it into Redis.TLSConfig.RootCAs", false
	case errors.As(err, new(x509.HostnameError)):
		return "set Redis.TLSConfig.ServerName to a name in the server's certificate, if that is the server you mean", false
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "the server's certificate is not good", false
	case errors.As(err, new(tls.RecordHeaderError)):
		return "the server speaks no TLS there", false
	case alerted(err):
		return "it is the server who says so: does it want a certificate that it trusts in Redis.TLSConfig.Certificates?", true
	}
	return "", false
}

// alerted reports whether the other side has ended the handshake by what crypto/tls calls a remote error, an alert.
func alerted(err error) bool {
	for remote := (*net.OpError)(nil); errors.As(err, &remote); err = remote.Err {
		if remote.Op == "remote error" {
			return true
		}
	}
	return false
}

// connecting returns the error of a failed Open, with what to do about it. announced is the address at which a node of a cluster was not reached, if
// the cluster has named it, and not the options.
func connecting(o *Options, err error, announced string) error {
	where := strings.Join(o.Redis.InitAddress, ", ")
	hint, group := "", ErrUnavailable
	password := "Redis.Password"
	if o.Redis.Sentinel.MasterSet != "" {
		password += ", or Redis.Sentinel.Password for the sentinels"
	}
	var dial *net.OpError
	words, _ := rediserr.Said(err)
	private, refused := privacy(err)
	switch {
	case refused:
		hint, group = private, ErrRefused
	case private != "":
		hint, group = private, ErrNotSent
	case errors.Is(err, ErrRefused):
		group = ErrRefused
	case strings.HasPrefix(words, "NOAUTH"):
		hint, group = "the server wants a password: set "+password, ErrRefused
	case strings.HasPrefix(words, "WRONGPASS"), strings.Contains(words, "without any password configured"):
		hint, group = "check Redis.Username and "+password, ErrRefused
	case strings.HasPrefix(words, "NOPERM"):
		hint, group = "grant this user the right that is named; SECURITY.md lists all it needs", ErrRefused
	case strings.HasPrefix(words, "No such master"):
		hint, group = "check Redis.Sentinel.MasterSet: SENTINEL MASTERS lists the names", ErrRefused
	case strings.HasPrefix(words, "This instance has cluster support disabled"):
		hint, group = "several addresses are those of a Redis Cluster, and here is none: name one server", ErrRefused
	case errors.Is(err, errSentinel):
		hint, group = "set Redis.Sentinel.MasterSet to the name of the master", ErrRefused
	case rediserr.IsAbsent(err) && strings.Contains(words, "SENTINEL"):
		hint, group = "check Redis.Sentinel.MasterSet: with it the addresses are those of sentinels, and this is none", ErrRefused
	case rediserr.IsAbsent(err):
		hint, group = "the server does not have a command that the engine needs: "+rediserr.WhyAbsent, ErrRefused
	case words != "":
		group = ErrRefused
	case errors.Is(err, rueidis.ErrNoCache): // the client's error for a refused CLIENT TRACKING; its own advice does not fit
		said := strings.TrimSuffix(strings.TrimSuffix(err.Error(), rueidis.ErrNoCache.Error()), "\n")
		err = errors.New(cmp.Or(said, "the server does not speak RESP3"))
		hint, group = "WatchLoss needs the right to CLIENT TRACKING, and RESP3, which Redis has since 6", ErrRefused
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		hint, group = "the server hung up at once: is maxclients reached, is it in protected mode, does it want TLS, is it Redis?", ErrRefused
		if o.Redis.TLSConfig != nil { // its alert that it wants a certificate may be lost with the connection
			hint = "the server hung up at once: does it want a certificate that it trusts in Redis.TLSConfig.Certificates, is maxclients reached?"
		}
	case announced != "" && errors.As(err, &dial) && dial.Op == "dial" && !errors.Is(err, errCredentials):
		hint, group = "the cluster announces this address: does a node run there, and can it be reached from here? Else set cluster-announce-ip or cluster-announce-hostname", ErrNotSent
	case errors.As(err, new(*net.DNSError)):
		hint, group = "is that the name of the server? Else set Options.Redis.InitAddress", ErrNotSent
	case rediserr.IsSilent(err), errors.Is(err, context.DeadlineExceeded):
		if errors.Is(err, os.ErrDeadlineExceeded) { // the dialling
			group = ErrNotSent
		}
		hint = "is redis-server running there, and not stopped?"
		if o.Redis.Sentinel.MasterSet != "" {
			hint = "do these sentinels answer, and the master that they name?"
		}
		if o.Redis.TLSConfig != nil {
			hint = "does it speak TLS there?"
		}
	case errors.As(err, new(*net.AddrError)):
		hint, group = "set Options.Redis.InitAddress to host:port; ParseURL makes Options of a URL", ErrNotSent
	case errors.Is(err, errCredentials):
		group = ErrNotSent
	case errors.As(err, &dial) && dial.Op == "dial":
		hint, group = "is redis-server running there? Else set Options.Redis.InitAddress", ErrNotSent
	}
	if hint != "" {
		hint = " (" + hint + ")"
	}
	return fmt.Errorf("%w: connecting to %s: %w%s", group, where, following{err}, hint)
}
