package engine

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// ParseURL makes Options from redis://, rediss:// (TLS), valkey:// and unix:// URLs:
//
//	redis://user:password@host:6379/0?dial_timeout=1s&write_timeout=1s&client_name=gateway
//	redis://host1:26379?addr=host2:26379&master_set=mymaster      Sentinel
//	redis://host1:6379?addr=host2:6379&addr=host3:6379            Redis Cluster; one of its addresses is enough
//	unix:///run/redis.sock?db=1
//
// With rediss:// and master_set the sentinels are asked by TLS too, unless sentinel_tls=false says that they speak none, and
// each server's certificate must be for the address that the URL or the sentinels give it. Otherwise it must be for the first host
// of the URL. The other parameters are those of rueidis.ParseURL; any other is an error. In a password a # is written %23, a / %2F and
// a ? %3F. Errors are [ErrInvalid]. They never quote the URL, which may contain a password.
func ParseURL(text string) (Options, error) {
	parsed, err := rueidis.ParseURL(text)
	if err != nil {
		return Options{}, invalid("Redis URL: %s; want redis://user:password@host:port/db, rediss:// or unix:///path", reasonOf(text))
	}
	query, wrong := parametersOf(text)
	if wrong != "" {
		return Options{}, invalid("Redis URL: %s", wrong)
	}
	private, wrong := sentinelTLS(query, parsed.TLSConfig != nil)
	switch {
	case wrong != "":
		return Options{}, invalid("Redis URL: %s", wrong)
	case parsed.TLSConfig == nil || parsed.Sentinel.MasterSet == "":
		return Options{Redis: parsed}, nil
	}
	parsed.TLSConfig.ServerName = "" // that of the address which is dialled
	if private {
		parsed.Sentinel.TLSConfig = parsed.TLSConfig // the same: both trust the same servers
	}
	return Options{Redis: parsed}, nil
}

// parameters are those of rueidis.ParseURL, and sentinel_tls.
var parameters = []string{"addr", "client_cache", "client_name", "db", "dial_timeout", "master_set", "max_retries", "protocol", "sentinel_tls",
	"skip_verify", "write_timeout"}

// parametersOf are the parameters of a URL that rueidis has parsed, and what is wrong with the URL; empty: nothing. rueidis leaves out what
// it does not expect. So "redis://:#secret@redis-1" would be a Redis on this machine, and a misspelled db the database 0.
func parametersOf(text string) (query url.Values, wrong string) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, reasonOf(text)
	}
	query, err = url.ParseQuery(u.RawQuery)
	switch {
	case strings.Contains(text, "#"):
		return nil, "it has a #, which is written %23 in a password"
	case u.Opaque != "":
		return nil, "want // after " + u.Scheme + ":"
	case u.Scheme == "unix" && u.Host != "":
		return nil, "want the path from the root on, unix:///path"
	case err != nil:
		return nil, "its parameters cannot be read"
	}
	for name := range query {
		if !slices.Contains(parameters, name) {
			return nil, "it has a parameter that is none of " + strings.Join(parameters, ", ") + "; a ? in a password is written %3F"
		}
	}
	for _, addr := range query["addr"] {
		_, port, _ := net.SplitHostPort(addr)
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return nil, "want host:port for each addr"
		}
	}
	return query, ""
}

// sentinelTLS reports whether the sentinels of a URL with these parameters are to be asked by TLS, as the servers are, and what is wrong
// with that.
func sentinelTLS(query url.Values, servers bool) (private bool, wrong string) {
	if !query.Has("sentinel_tls") {
		return servers, ""
	}
	switch private, err := strconv.ParseBool(query.Get("sentinel_tls")); {
	case err != nil:
		return false, "sentinel_tls must be true or false"
	case private && !servers:
		return false, "sentinel_tls=true needs rediss://"
	default:
		return private, ""
	}
}

// schemes are those of rueidis.ParseURL.
var schemes = []string{"redis", "rediss", "valkey", "valkeys", "unix"}

// reasonOf is what is wrong with a URL that cannot be parsed, without the URL. The parser's own messages quote it, in part or whole.
func reasonOf(text string) string {
	switch scheme, _, has := strings.Cut(text, "://"); {
	case !has:
		return "it has no scheme: begin it with redis://, or with rediss:// for TLS"
	case !slices.Contains(schemes, strings.ToLower(scheme)):
		return "its scheme is none of " + strings.Join(schemes, ", ")
	}
	return "it has a part that cannot be read; in a password write : as %3A, / as %2F, @ as %40, # as %23 and ? as %3F"
}
