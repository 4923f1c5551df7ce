// Package rediserr decides what an error of the client means: what the server said (Said), what became of the command
// (Judge), whether the server is there (Alive), whether it has a command and lets this user run it (IsAbsent,
// MayNotRun). Nothing else in the engine interprets errors of Redis.
package rediserr

import (
	"errors"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/scripts"
)

// Verdict is what an error says about the command it answers.
type Verdict struct {
	Result  gate.Result
	Message string        // the server's own
	Reload  bool          // the script is not loaded: load it and send again
	Link    bool          // the connection is gone
	Split   bool          // a call with many names: it may be about some of them
	Fault   scripts.Fault // what a script should have answered: then that is the answer
}

// What surely did not run and may run soon, and what surely did not and will not: the first words of the
// server's error. Anything else that the server says in an error came out of a script; our scripts turn
// errors of their commands into replies, so it did not get as far as a write.
var (
	passing = []string{"LOADING", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "NOREPLICAS", "MISCONF", "OOM", "UNKILLABLE", "NOTBUSY", "ERR max number of clients"}
	partly  = []string{"TRYAGAIN", "NOREPLICAS", "MISCONF", "OOM"} // of those, what may be about some names of a call: some keys of a slot that moves are here, some names are written to
	killed  = "Script killed by user"
	astride = "non local key" // in the midst of a script: a key that was here, and was deleted, is in a hash slot on its way
)

// Said is what the server said in an error, also in one that was wrapped, without what it adds about the script in which
// it said so; false: it did not come from the server.
func Said(err error) (words string, ok bool) {
	var redisErr *rueidis.RedisError
	if !errors.As(err, &redisErr) || redisErr.IsNil() {
		return "", false
	}
	return plain(redisErr.Error()), true
}

// inScript is what servers add to an error that came out of a script: until Redis 6.2 before it, since 7.0 behind.
var inScript = regexp.MustCompile(`^ERR Error running script .*@user_script: ?\d+: -?| script: [0-9a-f]{40}, on @\S+$`)

// plain is an error of the server in its own words. A digest and a line number tell nobody anything who has not written
// the script.
func plain(words string) string { return strings.TrimSpace(inScript.ReplaceAllString(words, "")) }

// Judge is the only place that decides what an error means (the table in ARCHITECTURE.md).
func Judge(err error) Verdict {
	if words, ok := Said(err); ok {
		if strings.HasPrefix(words, "NOSCRIPT") {
			return Verdict{Result: gate.Again, Message: words, Reload: true}
		}
		for _, p := range passing {
			if strings.HasPrefix(words, p) {
				return Verdict{Result: gate.Again, Message: words, Split: slices.Contains(partly, p)}
			}
		}
		if strings.Contains(words, killed) {
			return Verdict{Result: gate.Again, Message: words}
		}
		if strings.Contains(words, astride) { // what the script had done by then is done
			return Verdict{Result: gate.Unknown, Message: words}
		}
		if strings.HasPrefix(words, "WRONGTYPE") {
			return Verdict{Result: gate.Denied, Message: words, Fault: scripts.AnotherType}
		}
		return Verdict{Result: gate.Denied, Message: words}
	}
	if errors.Is(err, rueidis.ErrNoSlot) {
		return Verdict{Result: gate.Again, Message: err.Error()}
	}
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		return Verdict{Result: gate.NotSent, Link: true}
	}
	// Anything else broke the connection after the command was handed to it; whether it was written is not
	// known, so it counts as written.
	return Verdict{Result: gate.Unknown, Link: true}
}

// absent are the first words of servers that are there, but will not serve scripts.
var absent = []string{"LOADING", "MASTERDOWN", "CLUSTERDOWN", "ERR max number of clients"}

// Alive reports whether a server that answers with err is there and will serve scripts, or refuse them: a
// busy one will, and one that does not like the user says so to each caller.
func Alive(err error) bool {
	if err == nil {
		return true
	}
	words, ok := Said(err)
	return ok && !slices.ContainsFunc(absent, func(first string) bool { return strings.HasPrefix(words, first) })
}

// Explain says what an error means for a command that only asks.
func Explain(err error) gate.Why {
	switch Judge(err).Result {
	case gate.NotSent:
		return gate.Down
	case gate.Unknown:
		return gate.Doubtful
	default:
		return gate.Refused
	}
}

// WhyAbsent is why a server may not know a command.
const WhyAbsent = "renamed by rename-command, or not supported"

// IsAbsent reports whether the server said that it has no such command.
func IsAbsent(err error) bool {
	words, ok := Said(err)
	words = strings.TrimPrefix(words, "ERR ") // rueidis does so in most cases
	return ok && (strings.HasPrefix(words, "unknown command") || strings.HasPrefix(words, "unknown subcommand"))
}

// MayNotRun reports whether the server refused a command as such. The words are those of Redis 6 to 8.
func MayNotRun(err error) bool {
	words, ok := Said(err)
	return ok && strings.HasPrefix(words, "NOPERM") && strings.Contains(words, "permissions to run")
}
