package dispatcher

import (
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
)

// verdict is what an error says about the command it answers.
type verdict struct {
	result gate.Result
	words  string // the server's own
	reload bool   // the script is not loaded: load it and send again
	link   bool   // the connection is gone
	split  bool   // a call with many names: it may be about some of them
}

// What surely did not run and may run soon, and what surely did not and will not: the first words of the
// server's error. Anything else that the server says in an error came out of a script; our scripts turn
// errors of their commands into replies, so it did not get as far as a write.
var (
	passing = []string{"LOADING", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "UNKILLABLE", "NOTBUSY", "ERR max number of clients"}
	killed  = "Script killed by user"
	astride = "non local key" // in the midst of a script: a key that was here, and was deleted, is in a hash slot on its way
)

// Said is what the server said in an error, also in one that was wrapped; false: it did not come from the server.
func Said(err error) (words string, ok bool) {
	var redisErr *rueidis.RedisError
	if !errors.As(err, &redisErr) || redisErr.IsNil() {
		return "", false
	}
	return redisErr.Error(), true
}

// judge is the only place that decides what an error means (the table in ARCHITECTURE.md).
func judge(err error) verdict {
	if words, ok := Said(err); ok {
		if strings.HasPrefix(words, "NOSCRIPT") {
			return verdict{result: gate.Again, words: words, reload: true}
		}
		for _, p := range passing {
			if strings.HasPrefix(words, p) { // TRYAGAIN: some keys of a slot that moves are here, others are not
				return verdict{result: gate.Again, words: words, split: p == "TRYAGAIN"}
			}
		}
		if strings.Contains(words, killed) {
			return verdict{result: gate.Again, words: words}
		}
		if strings.Contains(words, astride) { // what the script had done by then is done
			return verdict{result: gate.Unknown, words: words}
		}
		return verdict{result: gate.Denied, words: words}
	}
	if errors.Is(err, rueidis.ErrNoSlot) {
		return verdict{result: gate.Again, words: err.Error()}
	}
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		return verdict{result: gate.NotSent, link: true}
	}
	// Anything else broke the connection after the command was handed to it; whether it was written is not
	// known, so it counts as written.
	return verdict{result: gate.Unknown, link: true}
}

// absent are the first words of servers that are there, but will not serve scripts.
var absent = []string{"LOADING", "MASTERDOWN", "CLUSTERDOWN", "ERR max number of clients"}

// alive reports whether a server that answers with err is there and will serve scripts, or refuse them: a
// busy one will, and one that does not like the user says so to each caller.
func alive(err error) bool {
	if err == nil {
		return true
	}
	words, ok := Said(err)
	return ok && !slices.ContainsFunc(absent, func(first string) bool { return strings.HasPrefix(words, first) })
}

// Explain says what an error means for a command that only asks.
func Explain(err error) gate.Why {
	switch judge(err).result {
	case gate.NotSent:
		return gate.Down
	case gate.Unknown:
		return gate.Doubtful
	default:
		return gate.Refused
	}
}
