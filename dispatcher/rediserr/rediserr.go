// Package rediserr decides what an error of the client means: what the server said (Said), what became of the command
// (Judge), whether the server is there (Alive), whether it has a command and lets this user run it (IsAbsent,
// MayNotRun). Nothing else in the engine interprets errors of Redis.
package rediserr

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// Verdict is what an error says about the command it answers.
type Verdict struct {
	Result  gate.Result
	Message string        // the server's own, or why it could not be reached
	Missing bool          // the script is not loaded: send the call with it
	Link    bool          // the connection is gone
	Split   bool          // a call with many names: it may be about some of them
	Apart   bool          // the keys of the call are apart: its hash slot is moving, they are in several, or this user has rights to some
	Fault   scripts.Fault // what a script should have answered: then that is the answer
}

// Doubts is the message of a refusal that may come to every call with names of several hash slots; empty: it is about something else.
func (v Verdict) Doubts() string {
	if v.Result != gate.Denied || v.Apart {
		return ""
	}
	return v.Message
}

// Outside reports whether the error may be of a connection that was not made, or over which the server did not let us in.
func (v Verdict) Outside() bool {
	return v.Result == gate.NotSent || slices.ContainsFunc(outside, func(first string) bool { return strings.HasPrefix(v.Message, first) })
}

var outside = []string{"WRONGPASS", "NOAUTH", "max number of clients"}

// The beginnings of errors of the server that say that the command did not run. Any other error came out of a script. Our
// scripts turn the errors of their commands into replies, so such a script did not get as far as a write.
var (
	passing = []string{"LOADING", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "NOREPLICAS", "MISCONF", "OOM", "UNKILLABLE", "NOTBUSY", "max number of clients"}
	partly  = []string{"TRYAGAIN", "NOREPLICAS", "MISCONF", "OOM"} // of those, what may be about some names of a call: some keys of a slot that moves are here, some names are written to
	killed  = "Script killed by user"
	astride = "non local key" // in the midst of a script: a key that was here, and was deleted, is in a hash slot on its way
)

// StopsWrites returns why the server refuses to write, if its message says that it does; else None.
func StopsWrites(message string) scripts.Fault {
	said, _, _ := strings.Cut(message, " ")
	for f := scripts.ReadOnly; f.StopsWrites(); f++ {
		if word, _, _ := strings.Cut(f.String(), ":"); word == said {
			return f
		}
	}
	return scripts.None
}

// Said returns the message of an error that came from the server, also of one that was wrapped, without what the server adds
// about the script. False: the error did not come from the server.
func Said(err error) (message string, ok bool) {
	var redisErr *rueidis.RedisError
	if !errors.As(err, &redisErr) || redisErr.IsNil() {
		return "", false
	}
	return plain(redisErr.Error()), true
}

// Text returns the text of an error in one line. It is fit for an error of the engine: servers quote the arguments of a command that
// they do not know, and one of AUTH is the password.
func Text(err error) string {
	if message, ok := Said(err); ok {
		return message
	}
	return strings.ReplaceAll(err.Error(), "\n", ": ")
}

// silence is the error of a server that did not answer in time.
type silence struct {
	text string
	dial error // nil: it was connected to
}

func (s *silence) Error() string { return s.text }
func (s *silence) Unwrap() error { return s.dial }

// Silent returns err, or if it says that the server at addr did not answer in time, which came after so long (0: that is not known), an error
// that says this. The client and the sockets say it in the words of a caller's own deadline. Of a name server the error says enough.
func Silent(err error, addr string, after time.Duration) error {
	socket := net.Error(nil)
	late := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &socket) && socket.Timeout()
	if !late || errors.As(err, new(*net.DNSError)) {
		return err
	}
	s := &silence{text: fmt.Sprintf("no answer within %v", after.Round(100*time.Millisecond))}
	if after == 0 {
		s.text = "no answer in time"
	}
	if addr != "" { // else what goes before says it
		s.text = addr + ": " + s.text
	}
	if isDial(err) {
		s.dial = &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	return s
}

// IsSilent reports whether err is of Silent.
func IsSilent(err error) bool { return errors.As(err, new(*silence)) }

func isDial(err error) bool {
	dial := (*net.OpError)(nil)
	return errors.As(err, &dial) && dial.Op == "dial"
}

// inScript is what servers add to an error that came out of a script: until Redis 6.2 before the error, since 7.0 behind.
var inScript = regexp.MustCompile(`^Error running script .*@user_script: ?\d+: -?| script: [0-9a-f]{40}, on @\S+$`)

// plain returns a message without what the server adds about the script, since a digest and a line number mean nothing to
// somebody that has not written the script, without the arguments of a command that the server does not know, and without the
// word ERR, which rueidis leaves out in most cases.
func plain(message string) string {
	message = WithoutArguments(strings.TrimPrefix(message, "ERR "))
	return strings.TrimSpace(inScript.ReplaceAllString(message, ""))
}

// Judge decides what became of a command that was answered with err. It has the table in ARCHITECTURE.md.
func Judge(err error) Verdict {
	if message, ok := Said(err); ok {
		if strings.HasPrefix(message, "NOSCRIPT") {
			return Verdict{Result: gate.Again, Message: message, Missing: true}
		}
		for _, p := range passing {
			if strings.HasPrefix(message, p) {
				return Verdict{Result: gate.Again, Message: message, Split: slices.Contains(partly, p), Apart: p == "TRYAGAIN"}
			}
		}
		if strings.Contains(message, killed) {
			return Verdict{Result: gate.Again, Message: message}
		}
		if strings.Contains(message, astride) { // what the script had done by then is done
			return Verdict{Result: gate.Unknown, Message: message}
		}
		if strings.HasPrefix(message, "WRONGTYPE") {
			return Verdict{Result: gate.Denied, Message: message, Fault: scripts.AnotherType}
		}
		forKeys := strings.HasPrefix(message, "CROSSSLOT") || strings.HasPrefix(message, "NOPERM") && !strings.Contains(message, "permissions to run")
		return Verdict{Result: gate.Denied, Message: message, Apart: forKeys}
	}
	if errors.Is(err, rueidis.ErrNoSlot) {
		return Verdict{Result: gate.Again, Message: err.Error()}
	}
	if isDial(err) {
		return Verdict{Result: gate.NotSent, Message: Text(err), Link: true}
	}
	// Anything else broke the connection after the command was handed to it; whether it was written is not
	// known, so it counts as written.
	return Verdict{Result: gate.Unknown, Message: Text(err), Link: true}
}

// absent are the beginnings of messages of servers that are there, but will not serve scripts.
var absent = []string{"LOADING", "MASTERDOWN", "CLUSTERDOWN", "max number of clients"}

// Alive reports whether a server that answers with err is there and will serve scripts, or refuse them one by one. A busy
// server will serve them; a server that refuses the user says so to each caller.
func Alive(err error) bool {
	if err == nil {
		return true
	}
	message, ok := Said(err)
	return ok && !slices.ContainsFunc(absent, func(first string) bool { return strings.HasPrefix(message, first) })
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
	message, ok := Said(err)
	return ok && (strings.HasPrefix(message, "unknown command") || strings.HasPrefix(message, "unknown subcommand"))
}

// MayNotRun reports whether the server refused a command as such. The message is that of Redis 6 to 8.
func MayNotRun(err error) bool {
	message, ok := Said(err)
	return ok && strings.HasPrefix(message, "NOPERM") && strings.Contains(message, "permissions to run")
}

// NotLoggedIn reports whether the server refused user and password, or wants some. That is about the connection: a password may be on its way to
// the server, or to us.
func NotLoggedIn(err error) bool {
	message, _ := Said(err)
	return strings.HasPrefix(message, "WRONGPASS") || strings.HasPrefix(message, "NOAUTH")
}

// Lacking reports whether a command failed because this user may not run it, or the server does not have it.
func Lacking(err error) bool { return MayNotRun(err) || IsAbsent(err) }
