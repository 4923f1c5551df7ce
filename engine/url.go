package engine

import (
	"errors"
	"net/url"

	"github.com/redis/rueidis"
)

// ParseURL makes Options from redis://, rediss:// (TLS), valkey:// and unix:// URLs:
//
//	redis://user:password@host:6379/0?dial_timeout=1s&write_timeout=1s&client_name=gateway
//	redis://host1:26379?addr=host2:26379&master_set=mymaster      Sentinel
//	redis://host1:6379?addr=host2:6379&addr=host3:6379            Redis Cluster; one of its addresses is enough
//	unix:///run/redis.sock?db=1
//
// The parameters are those of rueidis.ParseURL. Errors are [ErrInvalid]. They never quote the URL, which may contain a
// password.
func ParseURL(text string) (Options, error) {
	parsed, err := rueidis.ParseURL(text)
	if err != nil {
		return Options{}, invalid("Redis URL: %s; want redis://user:password@host:port/db, rediss:// or unix:///path", reasonOf(err))
	}
	return Options{Redis: parsed}, nil
}

// reasonOf is what is wrong with a URL, without the URL. The parser's own messages quote it, in part or whole.
func reasonOf(err error) string {
	var bad *url.Error
	if !errors.As(err, &bad) {
		return "it has a part that cannot be read"
	}
	return "it is not a URL"
}
