package redisflags

import (
	"strings"

	"github.com/wheellock/wheellock/dispatcher/rediserr"
)

// hints are what the engine advises programs to do, and what people can do instead.
var hints = strings.NewReplacer(
	"Else set Options.Redis.InitAddress", "Else name another one with --redis",
	"set Options.Redis.InitAddress to host:port; ParseURL makes Options of a URL", "check host and port in --redis",
	"set Redis.Password", "put it into "+PasswordVariable+", REDISCLI_AUTH or a file for --password-file",
	"Redis.Sentinel.Password", SentinelPasswordVariable,
	"set Redis.Sentinel.MasterSet to the name of the master", "add ?master_set=NAME to the URL",
	"check Redis.Username and Redis.Password", "check the user and the password",
	"put who signed it into Redis.TLSConfig.RootCAs", "name the file of who signed it with --cacert",
	"set Redis.TLSConfig.ServerName to a name in the server's certificate", "use a name in the server's certificate in the URL",
	"in Redis.TLSConfig.Certificates", "with --cert and --key",
	"does it want TLS,", "does it want TLS (rediss://),",
	"does it speak TLS there?", "does it speak TLS there? If not, begin the URL with redis://",
	"the server speaks no TLS there", "the server speaks no TLS there: begin the URL with redis://",
	"check Redis.Sentinel.MasterSet", "check master_set in the URL",
	"Redis.AuthCredentialsFn: ", "",
	"Redis.Dialer.Timeout", "dial_timeout",
	"Redis.Dialer.KeepAlive", "the keep-alive of",
	"Redis.ConnWriteTimeout", "write_timeout",
	", or set Redis.ForceSingleClient to use this node alone", "",
	", or a prefix by Options.NameMapper", "",
	"--redis: wheellock: invalid: ", "--redis: ",
	"\nwheellock: ", "\n", // of several errors
)

// Reword gives advice in a text of the engine to users of a program with these flags, and leaves out a password that a server quotes.
func Reword(text string) string { return hints.Replace(rediserr.WithoutArguments(text)) }

// Explain is what an error of the engine says, with advice for users of a program with these flags.
func Explain(err error) string { return Reword(strings.TrimPrefix(err.Error(), "wheellock: ")) }
