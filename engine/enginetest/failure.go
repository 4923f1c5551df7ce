package enginetest

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/wheellock/wheellock/scripts"
)

// CallFailure is how a call fails. See [Server.FailNext].
type CallFailure int

const (
	// OutOfMemory is a server at its maxmemory: it refuses what needs memory, such as taking a lock, and goes on renewing
	// and releasing. Lock asks again; TryLock gets [engine.ErrRefused].
	OutOfMemory CallFailure = iota + 1
	// NoPermission is a user without the right to the key (NOPERM): nothing runs. Lock and TryLock get
	// [engine.ErrRefused]; renewals and releases are repeated.
	NoPermission
	// LostAnswer is a connection that breaks after the server ran the call and before the answer came. The engine
	// cannot know whether it ran: Lock asks again, TryLock gets [engine.ErrUncertain], renewals and releases are repeated.
	LostAnswer
)

// String returns how Redis, or the network, calls it.
func (c CallFailure) String() string {
	switch c {
	case OutOfMemory:
		return "OOM"
	case NoPermission:
		return "NOPERM"
	case LostAnswer:
		return "lost answer"
	default:
		return fmt.Sprintf("CallFailure(%d)", int(c))
	}
}

// The messages of Redis.
const (
	noMemory = "OOM command not allowed when used memory > 'maxmemory'."
	noRight  = "NOPERM No permissions to access a key"
)

// FailNext makes the next call about a name fail, by any engine: a lock, a renewal, a release, or a question such as
// [engine.Semaphore.Available]. Further FailNext are for the calls after that, in their order. OutOfMemory waits for a call
// that needs memory, the others take any. With LostAnswer the calls of other names that travel in the same command fail
// likewise, as with Redis. With a NameMapper, name is the mapped one.
func (s *Server) FailNext(name string, f CallFailure) { s.fail("FailNext", name, anyCall, f) }

// FailNextRenewal is FailNext for the next renewal of a lock or permit, by the watchdog or by [engine.Hold.Extend]. It
// comes before what FailNext says of any call. OutOfMemory panics: a server without memory goes on renewing.
func (s *Server) FailNextRenewal(name string, f CallFailure) {
	s.fail("FailNextRenewal", name, renewal, f)
}

// FailNextUnlock is FailNextRenewal for the next unlock, which may also be one by which an engine cleans up after a call
// with an unknown outcome.
func (s *Server) FailNextUnlock(name string, f CallFailure) {
	s.fail("FailNextUnlock", name, unlock, f)
}

func (s *Server) fail(method, name string, of operation, f CallFailure) {
	if f < OutOfMemory || f > LostAnswer || f == OutOfMemory && of != anyCall {
		panic(fmt.Sprintf("enginetest: %s(%q, %v): there is no such failure", method, name, f))
	}
	s.failures.mu.Lock()
	defer s.failures.mu.Unlock()
	t := target{name, of}
	s.failures.next[t] = append(s.failures.next[t], f)
}

// operation is what a call does.
type operation int

const (
	anyCall operation = iota
	renewal
	unlock
)

// operations are those of the scripts that renew or unlock, by digest.
var operations = map[string]operation{
	digest(scripts.Renew.Text): renewal, digest(scripts.RenewRead.Text): renewal, digest(scripts.Confirm.Text): renewal,
	digest(scripts.ConfirmRead.Text): renewal, digest(scripts.PermitRenew.Text): renewal,
	digest(scripts.RenewSimple.Text): renewal, digest(scripts.ConfirmSimple.Text): renewal,
	digest(scripts.ReleaseSimple.Text): unlock, digest(scripts.ReleaseSimpleFromLine.Text): unlock,
	digest(scripts.Release.Text): unlock, digest(scripts.ReleaseFromLine.Text): unlock, digest(scripts.FairRelease.Text): unlock,
	digest(scripts.ReleaseRead.Text): unlock, digest(scripts.ReleaseReadFromLine.Text): unlock, digest(scripts.ReleaseWrite.Text): unlock,
	digest(scripts.ReleaseWriteFromLine.Text): unlock, digest(scripts.Downgrade.Text): unlock, digest(scripts.PermitFree.Text): unlock,
}

// target are the calls about a name, of one operation or of any.
type target struct {
	name string
	of   operation
}

// failures are those of the calls to come.
type failures struct {
	mu   sync.Mutex               // guards the rest; the commands of a script take it while miniredis holds its own
	next map[target][]CallFailure // in their order
	run  scriptRun
}

// takeLocked takes the failure that is next for an operation and a name, if it is one of these.
func (f *failures) takeLocked(of operation, isName func(string) bool, any ...CallFailure) (next CallFailure, fails bool) {
	for t, queue := range f.next {
		if t.of == of && isName(t.name) && len(queue) > 0 && slices.Contains(any, queue[0]) {
			f.next[t] = queue[1:]
			return queue[0], true
		}
	}
	return 0, false
}

// isNextLocked reports whether this failure is next for an operation and a name.
func (f *failures) isNextLocked(of operation, isName func(string) bool, failure CallFailure) bool {
	for t, queue := range f.next {
		if t.of == of && isName(t.name) && len(queue) > 0 && queue[0] == failure {
			return true
		}
	}
	return false
}

// take takes the failure that is next for one of a script's keys. A call that is refused for want of a right is repeated without the other
// names of the call, and then without its line: only the last of these takes the failure.
func (f *failures) take(of operation, keys []string) (next CallFailure, fails bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range keys {
		isName := func(name string) bool { return key == name || key == scripts.PermitsKey(name) } // which stands alone in a renewal
		repeated := slices.Contains(keys, scripts.LineKey(key)) || slices.ContainsFunc(keys, func(other string) bool { return !belongs(other, key) })
		for _, of := range []operation{of, anyCall} {
			if repeated && f.isNextLocked(of, isName, NoPermission) {
				return NoPermission, true
			}
			if next, fails = f.takeLocked(of, isName, NoPermission, LostAnswer); fails {
				return next, true
			}
		}
	}
	return 0, false
}

// fails makes a call of a script fail, if one of its names is to. args are those of EVALSHA.
func (s *Server) fails(peer *server.Peer, args []string) bool {
	keys, err := strconv.Atoi(args[1])
	if err != nil || len(args) < 2+keys {
		return false
	}
	f, fails := s.failures.take(operations[args[0]], args[2:2+keys])
	switch {
	case !fails:
		return false
	case f == NoPermission:
		peer.WriteError(noRight)
	case f == LostAnswer:
		s.redis.Server().Dispatch(server.NewPeer(bufio.NewWriter(io.Discard)), append([]string{"EVALSHA"}, args...))
		peer.Close()
	}
	return true
}

// scriptRun is the script that runs now: there is one at a time.
type scriptRun struct {
	id      any
	wrote   []string // the keys it has written to: to these it may go on writing
	refused []string // the keys for which it was refused memory: it gets none, however often it asks
}

// Commands that need memory, and those that do not but write.
var (
	needing = []string{"SET", "INCRBY", "DECRBY", "HSET", "ZADD"}
	freeing = []string{"DEL", "HDEL", "PEXPIRE", "ZREM", "ZREMRANGEBYSCORE"}
)

// refusesMemory refuses the command of a script, if it is the first to write to a key of a name that has OutOfMemory next.
func (s *Server) refusesMemory(peer *server.Peer, command string, args []string) bool {
	needs := slices.Contains(needing, command)
	if !needs && !slices.Contains(freeing, command) || slices.Contains(args, foreigner) {
		return false
	}
	refused := s.failures.refuses(peer.Ctx, args[0], needs)
	if refused {
		peer.WriteError(noMemory)
	}
	return refused
}

// refuses reports whether the command of a script is refused that writes to a key.
func (f *failures) refuses(run any, key string, needs bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.run.id != run {
		f.run = scriptRun{id: run}
	}
	if slices.Contains(f.run.wrote, key) {
		return false
	}
	if needs {
		if slices.Contains(f.run.refused, key) {
			return true
		}
		isName := func(name string) bool { return belongs(key, name) }
		if _, fails := f.takeLocked(anyCall, isName, OutOfMemory); fails {
			f.run.refused = append(f.run.refused, key)
			return true
		}
	}
	f.run.wrote = append(f.run.wrote, key)
	return false
}

// belongs reports whether a key is that of a name, or derived from it.
func belongs(key, name string) bool {
	return key == name || strings.HasSuffix(key, scripts.PrefixName("", name)) || strings.HasPrefix(key, scripts.SuffixName(name, ""))
}
