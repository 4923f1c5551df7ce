package engine

import (
	"errors"
	"net/url"
	"strconv"

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
// of the URL. The other parameters are those of rueidis.ParseURL. Errors are [ErrInvalid]. They never quote the URL, which may
// contain a password.
func ParseURL(text string) (Options, error) {
	parsed, err := rueidis.ParseURL(text)
	if err != nil {
		return Options{}, invalid("Redis URL: %s; want redis://user:password@host:port/db, rediss:// or unix:///path", reasonOf(err))
	}
	if parsed.TLSConfig == nil || parsed.Sentinel.MasterSet == "" {
		return Options{Redis: parsed}, nil
	}
	parsed.TLSConfig.ServerName = "" // that of the address which is dialled
	private, err := sentinelTLS(text)
	if err != nil {
		return Options{}, err
	}
	if private {
		parsed.Sentinel.TLSConfig = parsed.TLSConfig // the same: whom to trust holds for both
	}
	return Options{Redis: parsed}, nil
}

// sentinelTLS reports whether the sentinels of a URL that has been parsed are to be asked by TLS.
func sentinelTLS(text string) (bool, error) {
	u, err := url.Parse(text)
	if err != nil || !u.Query().Has("sentinel_tls") {
		return true, nil
	}
	private, err := strconv.ParseBool(u.Query().Get("sentinel_tls"))
	if err != nil {
		return false, invalid("Redis URL: sentinel_tls must be true or false")
	}
	return private, nil
}

// reasonOf is what is wrong with a URL, without the URL. The parser's own messages quote it, in part or whole.
func reasonOf(err error) string {
	var bad *url.Error
	if !errors.As(err, &bad) {
		return "it has a part that cannot be read"
	}
	return "it is not a URL"
}
