package redisnet

import (
	"time"

	"github.com/wheellock/wheellock/internal/redismodel"
)

// trouble is what a server does wrong, besides refusing writes.
type trouble struct {
	loading  time.Time           // until then everything is LOADING
	behind   int                 // commands until it refuses writes
	words    string              // in which it will
	denied   map[string][]string // by key, the words in which the next calls about it are refused
	slowTime time.Duration       // how long TIME is on its way to the server, and what comes behind it
}

// refuses is the answer of a server that cannot serve.
func (t *trouble) refuses(name string, now time.Time) (redismodel.Value, bool) {
	if now.Before(t.loading) && name != "PING" && name != "CLIENT" && name != "AUTH" {
		return failure("LOADING Redis is loading the dataset in memory"), true
	}
	return redismodel.Value{}, false
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

// Deny has it refuse the next call of a script about a key in these words: nothing runs. More of them are for the calls after that.
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
			s.trouble.denied[key] = words[1:]
			return failure(words[0]), true
		}
	}
	return redismodel.Value{}, false
}
