package engine

import (
	"cmp"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// ParseURL makes Options from redis://, rediss:// (TLS), valkey:// and unix:// URLs:
//
//	redis://user:password@host:6379/0?dial_timeout=1s&write_timeout=1s&client_name=gateway
//	redis://host1:26379?addr=host2:26379&master_set=mymaster      Sentinel
//	redis://host1:6379?addr=host2:6379&addr=host3:6379            Redis Cluster; one of its addresses is enough
//	unix:///run/redis.sock?db=1
//
// Without a host it is localhost, without a port 6379, without a database, or with / alone, 0. With rediss:// and master_set the sentinels are
// asked by TLS too, unless sentinel_tls=false says that they speak none, and
// each server's certificate must be for the address that the URL or the sentinels give it. Otherwise it must be for the first host
// of the URL. The other parameters are those of rueidis.ParseURL. Whatever would not be used is an error. In a password a % is written %25,
// a # %23, a / %2F and a ? %3F. Errors are [ErrInvalid]. They never quote the URL, which may contain a password.
func ParseURL(text string) (Options, error) {
	u, query, wrong := readURL(text)
	if wrong != "" {
		return Options{}, invalid("Redis URL: %s; a URL is redis://user:password@host:port/db, rediss:// or unix:///path", wrong)
	}
	parsed, err := rueidis.ParseURL(u.String())
	if err != nil { // it quotes the URL
		return Options{}, invalid("Redis URL: it has a part that cannot be read")
	}
	if parsed.TLSConfig != nil && parsed.Sentinel.MasterSet != "" {
		parsed.TLSConfig.ServerName = "" // that of the address which is dialled
		if is := query.Get("sentinel_tls"); is == "" || isTrue(is) {
			parsed.Sentinel.TLSConfig = parsed.TLSConfig // the same: both trust the same servers
		}
	}
	return Options{Redis: parsed}, nil
}

// schemes are those of rueidis.ParseURL.
var schemes = []string{"redis", "rediss", "valkey", "valkeys", "unix"}

// readURL reads a URL, and says what is wrong with it, without the URL: the parser's own messages quote it, in part or whole. rueidis leaves
// out what it does not expect. So "redis://:#secret@redis-1" would be a Redis on this machine, and a misspelled db the database 0. A database
// in the path becomes the parameter db.
func readURL(text string) (u *url.URL, query url.Values, wrong string) {
	const escapes = "; in a password write % as %25, : as %3A, / as %2F, @ as %40, # as %23 and ? as %3F"
	scheme, rest, has := strings.Cut(text, "://")
	authority := rest[:strings.IndexAny(rest+"/", "/?#")]
	host := authority[strings.LastIndexByte(authority, '@')+1:]
	u, err := url.Parse(text)
	switch {
	case strings.TrimSpace(text) != text:
		return nil, nil, "it has white space around it"
	case !has:
		return nil, nil, "it has no scheme: begin it with redis://, or with rediss:// for TLS"
	case !slices.Contains(schemes, strings.ToLower(scheme)):
		return nil, nil, "its scheme is none of " + strings.Join(schemes, ", ")
	case strings.Contains(text, "#"):
		return nil, nil, "it has a #" + escapes
	case !isHost(host):
		return nil, nil, "its host: want one, with a port from 1 to 65535, as redis-1:6379 or [::1]:6379, and others as addr=host:port" + escapes
	case err != nil:
		return nil, nil, "it has a part that cannot be read" + escapes
	case u.Scheme == "unix" && (u.Host != "" || u.Path == "" || strings.TrimSpace(u.Path) != u.Path):
		return nil, nil, "want the path from the root on, unix:///path"
	}
	if query, err = url.ParseQuery(u.RawQuery); err != nil {
		return nil, nil, "its parameters cannot be read"
	}
	if u.Scheme != "unix" {
		if db := strings.TrimPrefix(u.Path, "/"); db != "" && !slices.Contains(query["db"], db) {
			query.Add("db", db)
		}
		u.Path, u.RawPath, u.RawQuery = "", "", query.Encode()
	}
	return u, query, parametersWrong(u.Scheme, query)
}

// isHost reports whether text is a host with a port, or lacks one of them or both.
func isHost(text string) bool {
	bracket := strings.LastIndexByte(text, ']') + 1
	name, port, ported := strings.Cut(text[bracket:], ":")
	if !ported {
		port = "6379"
	}
	return isAddr(cmp.Or(text[:bracket]+name, "localhost") + ":" + port)
}

func isAddr(text string) bool {
	host, port, err := net.SplitHostPort(text)
	n, wrong := strconv.ParseUint(port, 10, 16)
	return err == nil && wrong == nil && n > 0 && host != "" && !strings.Contains(host, ",")
}

// parameters are those of rueidis.ParseURL, and sentinel_tls, with what they want.
var parameters = map[string]struct {
	wants string
	is    func(value string) bool
}{
	"addr":          {"host:port for each addr", isAddr},
	"client_cache":  {"0: the engine caches nothing", func(v string) bool { return v == "0" }},
	"client_name":   {"a name", func(v string) bool { return v != "" }},
	"db":            {"the number of a database, as in /0", isNumber},
	"dial_timeout":  {"a time with its unit, such as 1s", isTime},
	"master_set":    {"a name", func(v string) bool { return v != "" }},
	"max_retries":   {"0: the engine alone decides what is sent again", func(v string) bool { return v == "0" }},
	"protocol":      {"2 or 3", func(v string) bool { return v == "2" || v == "3" }},
	"sentinel_tls":  {"true or false", isBool},
	"skip_verify":   {"true or false", func(v string) bool { return v == "" || isBool(v) }},
	"write_timeout": {"a time with its unit, such as 1s", isTime},
}

// parametersWrong says what is wrong with the parameters of a URL; empty: nothing.
func parametersWrong(scheme string, query url.Values) string {
	private := scheme == "rediss" || scheme == "valkeys"
	for _, name := range slices.Sorted(maps.Keys(query)) {
		p, known := parameters[name]
		switch values := query[name]; {
		case !known:
			return "it has a parameter that is none of " + strings.Join(slices.Sorted(maps.Keys(parameters)), ", ") + "; a ? in a password is written %3F"
		case len(values) > 1 && name != "addr":
			return "it has " + name + " more than once"
		case slices.ContainsFunc(values, func(v string) bool { return !p.is(v) }):
			return name + ": want " + p.wants
		case name == "skip_verify" && !private, name == "sentinel_tls" && !private && isTrue(values[0]):
			return name + " needs rediss://"
		case name == "sentinel_tls" && !query.Has("master_set"):
			return "sentinel_tls needs master_set"
		case scheme == "unix" && (name == "addr" || name == "master_set"):
			return name + " is not for unix://"
		}
	}
	return ""
}

func isNumber(text string) bool {
	n, err := strconv.ParseUint(text, 10, 31)
	return err == nil && strconv.FormatUint(n, 10) == text
}

func isTime(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d > 0
}

func isBool(text string) bool {
	_, err := strconv.ParseBool(text)
	return err == nil
}

func isTrue(text string) bool {
	is, _ := strconv.ParseBool(text)
	return is
}
