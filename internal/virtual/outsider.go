package virtual

import (
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/internal/redismodel"
	"github.com/wheellock/wheellock/internal/redisnet"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// Outsider is the owner in whose name another program takes locks: by Redisson's plain protocol, nothing of ours.
const Outsider = "0b7d4c7e-0000-4000-8000-00000000feed:1"

// Try has the other program ask once for a lock on w.Server.
func (w *World) Try(name string, lease time.Duration) (taken bool) { return try(w.Server, name, lease) }

func try(server *redisnet.Server, name string, lease time.Duration) (taken bool) {
	server.Look(func(s *redismodel.Server) {
		v := s.Eval(testkit.RedissonAcquire, []string{name}, []string{strconv.FormatInt(lease.Milliseconds(), 10), Outsider})
		taken = v.Kind == redismodel.Nil
	})
	return taken
}

// Take is Try of what must be free.
func (w *World) Take(name string, lease time.Duration) {
	w.T.Helper()
	if !w.Try(name, lease) {
		w.T.Fatalf("%s is taken", name)
	}
}

// Free gives back what was taken and wakes who listens; false: it was not the other program's.
func (w *World) Free(name string) (freed bool) { return free(w.Server, name) }

func free(server *redisnet.Server, name string) (freed bool) {
	server.Look(func(s *redismodel.Server) {
		v := s.Eval(testkit.RedissonRelease, []string{name, scripts.LockChannel(name)}, []string{"0", Outsider})
		freed = v.Kind == redismodel.Int
	})
	return freed
}

// Owners reads who holds a name on w.Server, and how often.
func (w *World) Owners(name string) (owners []string) {
	for _, v := range w.Server.Do("HGETALL", name).Array {
		owners = append(owners, v.Str)
	}
	return owners
}

// Listeners counts the subscriptions to the channel of a name.
func (w *World) Listeners(name string) int {
	return int(w.Server.Do("PUBSUB", "NUMSUB", scripts.LockChannel(name)).Array[1].Int)
}

// Runs matches calls of a script, for Swallow and Hear.
func Runs(s scripts.Script) func(args []string) bool {
	digest := testkit.Digest(s)
	return func(args []string) bool {
		return strings.EqualFold(args[0], "EVALSHA") && args[1] == digest || strings.EqualFold(args[0], "EVAL") && args[1] == s.Text
	}
}
