package redisnet

import (
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/internal/redismodel"
	"github.com/wheellock/wheellock/scripts"
)

// trouble is what a server does wrong, besides refusing writes.
type trouble struct {
	loading  time.Time           // until then everything is LOADING
	behind   int                 // commands until it refuses writes
	words    string              // in which it will
	denied   map[string][]string // by key, the words in which the next calls about it are refused
	slowTime time.Duration       // how long TIME is on its way to the server, and what comes behind it
	busy     bool                // a script runs without end
	noHello  string              // the words in which it refuses HELLO; "": it does not
}

// refuses is the answer of a server that cannot serve.
func (t *trouble) refuses(name string, now time.Time) (redismodel.Value, bool) {
	if now.Before(t.loading) && name != "PING" && name != "CLIENT" && name != "AUTH" && !strings.HasSuffix(name, "SUBSCRIBE") {
		return failure("LOADING Redis is loading the dataset in memory"), true
	}
	if t.busy && name != "HELLO" && name != "AUTH" && name != "DISCARD" && name != "QUIT" {
		return failure("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."), true
	}
	return redismodel.Value{}, false
}

// Busy has it answer BUSY, as while a script runs without end.
func (s *Server) Busy(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble.busy = on
}

// WithoutHello has it speak RESP2 only, and refuse HELLO in these words.
func (s *Server) WithoutHello(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble.noHello = words
}

// Step has its clock jump.
func (s *Server) Step(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stepped += d
}

// Refuse has it refuse writes, as redismodel.Server.Refuse.
func (s *Server) Refuse(words string, after int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble.words = ""
	s.model.Refuse(words, after)
}

// RefuseBehind has it refuse writes when so many more commands of clients have run, as a server does between two of them.
func (s *Server) RefuseBehind(commands int, words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble.behind, s.trouble.words = commands, words
}

// arm begins to refuse writes when it is time.
func (s *Server) arm() {
	if s.trouble.words == "" {
		return
	}
	if s.trouble.behind == 0 {
		s.model.Refuse(s.trouble.words, 0)
		s.trouble.words = ""
	}
	s.trouble.behind--
}

// SlowTime has TIME arrive so much later, so that an answer tells a time close to its end.
func (s *Server) SlowTime(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble.slowTime = d
}

// slowness is how much later TIME arrives.
func (s *Server) slowness() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble.slowTime
}

// Load has it answer LOADING for a time.
func (s *Server) Load(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble.loading = s.now().Add(d)
}

// KillListeners breaks the connections that listen to something, as CLIENT KILL TYPE pubsub does, and returns how many there were.
func (s *Server) KillListeners() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.order {
		if len(c.channels) > 0 {
			c.conn.cut()
			n++
		}
	}
	return n
}

// LoseMessages has those messages vanish of which lost says so, which is asked for each that somebody is to hear; nil: none. lost
// must not use the Server.
func (s *Server) LoseMessages(lost func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drops = lost
}

// FlushScripts has it forget the scripts.
func (s *Server) FlushScripts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.scripts)
}

// Saved is what a server has on its disk.
type Saved struct{ was redismodel.Snapshot }

// Save keeps what it knows.
func (s *Server) Save() Saved {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	return Saved{s.model.Snapshot()}
}

// Stop ends the server: connections break, nobody can connect.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for _, c := range s.order {
		c.conn.cut()
	}
}

// Start starts it again: with what was saved, with nothing, or (nil) with what it knew.
func (s *Server) Start(with *Saved) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if with != nil {
		s.model.Restore(with.was)
		s.turn()
	}
	s.model.Refuse("", 0)
	clear(s.scripts)
	s.stopped = false
	s.runs++
}

// Deny has it refuse the next call of a script about a key in these words: nothing runs. More of them are for the calls after that. For want
// of a right the next call that names no line is refused besides, by which an engine repeats the one that names one.
func (s *Server) Deny(key, words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trouble.denied == nil {
		s.trouble.denied = make(map[string][]string)
	}
	s.trouble.denied[key] = append(s.trouble.denied[key], words)
}

// denies is the answer to a call of a script about a key that is denied.
func (s *Server) denies(name string, args []string) (redismodel.Value, bool) {
	if name != "EVALSHA" || len(args) < 3 {
		return redismodel.Value{}, false
	}
	for _, key := range args[3:] {
		if words := s.trouble.denied[key]; len(words) > 0 {
			if !strings.HasPrefix(words[0], "NOPERM") || !slices.Contains(args[3:], scripts.LineKey(key)) {
				s.trouble.denied[key] = words[1:]
			}
			return failure(words[0]), true
		}
	}
	return redismodel.Value{}, false
}
