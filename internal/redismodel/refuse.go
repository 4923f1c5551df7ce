package redismodel

import (
	"slices"
	"strings"
)

// refusal is how a server refuses writes.
type refusal struct {
	words   string   // "": it does not
	left    int      // writes that are let through before
	memory  bool     // it is at maxmemory
	rights  string   // the words for a user without a right
	missing string   // commands that this user may not run, in lower case, between spaces
	open    []string // keys whose hash slot is on its way
	shut    bool     // also those of them that are here
}

// Refuse makes the server refuse writes, in the words of Redis without the dash ("READONLY You can't write against a read only
// replica."), once it has let so many more through, whoever asks. "" ends it.
//
// It may begin in the midst of a script. redis-server looks before the first write of a script only: what it does is
// Refuse(words, 0) between two calls. A script that is refused half-way there may leave what it leaves nowhere else.
//
// Of OOM it makes what Redis makes of it: commands that need no memory go on, and so do all of a script that has written already.
func (s *Server) Refuse(words string, after int) {
	s.refusal.words, s.refusal.left = words, after
	s.refusal.memory = strings.HasPrefix(words, "OOM")
}

// Forbid takes the right to run these commands from everybody: they answer these words. It takes the place of an earlier Forbid;
// none ends it.
func (s *Server) Forbid(words string, commands ...string) {
	s.refusal.rights, s.refusal.missing = words, ""
	if len(commands) > 0 {
		s.refusal.missing = " " + strings.ToLower(strings.Join(commands, " ")) + " "
	}
}

// Open says that the hash slots of these keys are on their way to another node of a cluster: a script is refused each command with one of
// them that is not here, as by Redis 7.0; shut: or that is, as by 7.4. It takes the place of an earlier Open; without keys there is none.
func (s *Server) Open(shut bool, keys ...string) { s.refusal.shut, s.refusal.open = shut, keys }

// nonLocal are the words of Redis 7.
const nonLocal = "ERR Script attempted to access a non local key in a cluster node"

// refused answers whether a command is refused, and counts the writes.
func (s *Server) refused(c *command, args []string) (words string) {
	if s.inScript {
		for _, key := range args[1:] {
			if slices.Contains(s.refusal.open, key) && (s.refusal.shut || s.find(key) == nil) {
				return nonLocal
			}
		}
	}
	if s.refusal.missing != "" && strings.Contains(s.refusal.missing, " "+c.name+" ") {
		return s.refusal.rights
	}
	if !c.writes {
		if c.name == "ping" && !s.inScript && strings.HasPrefix(s.refusal.words, "MISCONF") {
			return s.refusal.words
		}
		return ""
	}
	if s.refusal.words != "" {
		if s.refusal.left <= 0 && (!s.refusal.memory || c.grows && !(s.inScript && s.wrote)) {
			return s.refusal.words
		}
		s.refusal.left--
	}
	s.wrote = true
	s.Writes++
	return ""
}
