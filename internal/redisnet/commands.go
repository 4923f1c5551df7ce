package redisnet

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/internal/redismodel"
)

func failure(words string) redismodel.Value {
	return redismodel.Value{Kind: redismodel.Err, Str: words}
}
func text(s string) redismodel.Value { return redismodel.Value{Kind: redismodel.Str, Str: s} }
func integer(n int) redismodel.Value { return redismodel.Value{Kind: redismodel.Int, Int: int64(n)} }

var ok = redismodel.Value{Kind: redismodel.Status, Str: "OK"}

// answer runs one command of a client. False: the connection ends.
func (s *Server) answer(c *session, args []string) bool {
	if s.stopped {
		return false
	}
	s.turn()
	s.arm()
	name := strings.ToUpper(args[0])
	if name != "PING" {
		s.commands++
	}
	if s.hears != nil {
		s.hears(args)
	}
	v, refused := s.trouble.refuses(name, s.now())
	if !refused && s.listening(c, name, args[1:]) {
		return true
	}
	if name == "QUIT" {
		c.pending = appendValue(c.pending, ok, c.resp3)
		return false
	}
	if name == "HELLO" && s.trouble.noHello == "" {
		c.pending = s.hello(c, args)
		return true
	}
	if !refused {
		v, refused = s.denies(name, args)
	}
	switch {
	case refused:
	case name == "HELLO":
		v = failure(s.trouble.noHello)
	case name == "CLIENT":
		v = s.client(c, args[1:])
	default:
		v = s.run(name, args)
	}
	if s.next != nil && c.client == s.nextOf && strings.HasPrefix(name, "EVAL") {
		s.next()
		s.next = nil
	}
	if s.after != nil {
		s.after(s.model)
	}
	c.pending = appendValue(c.pending, v, c.resp3)
	return true
}

// hello is HELLO, whose answer is a map.
func (s *Server) hello(c *session, args []string) []byte {
	if len(args) > 1 {
		c.resp3 = args[1] == "3"
	}
	if i := slices.Index(args, "SETNAME"); i >= 0 && i+1 < len(args) {
		c.name = args[i+1]
	}
	kind, items := byte('*'), 2
	if c.resp3 {
		kind, items = '%', 1
	}
	b := appendHeader(c.pending, kind, 5*items)
	for _, item := range []string{"server", "redis", "version", "7.0.15", "mode", "standalone", "role", "master"} {
		b = appendText(b, item)
	}
	return appendHeader(appendText(b, "proto"), ':', map[bool]int{false: 2, true: 3}[c.resp3])
}

// run is every command that has one answer.
func (s *Server) run(name string, args []string) redismodel.Value {
	switch name {
	case "AUTH", "SELECT", "READONLY", "ASKING":
		return ok
	case "DISCARD":
		return failure("ERR DISCARD without MULTI")
	case "WAIT":
		return integer(0)
	case "INFO":
		return text("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:" + s.runID() + "\r\n")
	case "ROLE":
		return redismodel.Value{Kind: redismodel.Array, Array: []redismodel.Value{text("master"), integer(0), {Kind: redismodel.Array}}}
	case "SCRIPT":
		return s.script(args)
	case "EVAL":
		s.load(args[1])
		return s.eval(args[1], args[2:])
	case "EVALSHA":
		script, known := s.scripts[strings.ToLower(args[1])]
		if !known {
			return failure("NOSCRIPT No matching script. Please use EVAL.")
		}
		return s.eval(script, args[2:])
	}
	v := s.model.Do(args...)
	if v.Kind == redismodel.Err && strings.HasPrefix(v.Str, "ERR unknown command") {
		s.unknown[name]++
	}
	return v
}

// client is CLIENT: what a connection says of itself, and what it may ask of others.
func (s *Server) client(c *session, args []string) redismodel.Value {
	switch strings.ToUpper(args[0]) {
	case "TRACKING":
		c.tracking = true
	case "LIST":
		var lines strings.Builder
		for _, one := range s.order {
			fmt.Fprintf(&lines, "addr=memory:0 name=%s age=%d\n", one.name, int(time.Since(one.since).Seconds()))
		}
		return text(lines.String())
	}
	return ok
}

func (s *Server) script(args []string) redismodel.Value {
	switch strings.ToUpper(args[1]) {
	case "LOAD":
		return text(s.load(args[2]))
	case "FLUSH":
		clear(s.scripts)
		return ok
	case "EXISTS":
		v := redismodel.Value{Kind: redismodel.Array}
		for _, digest := range args[2:] {
			_, known := s.scripts[digest]
			v.Array = append(v.Array, integer(map[bool]int{true: 1}[known]))
		}
		return v
	}
	return failure("ERR unknown subcommand '" + args[1] + "'. Try SCRIPT HELP.")
}

func (s *Server) load(script string) string {
	digest := redismodel.Digest(script)
	s.scripts[digest] = script
	return digest
}

// eval is EVAL with the number of keys, the keys and the arguments.
func (s *Server) eval(script string, rest []string) redismodel.Value {
	keys, err := strconv.Atoi(rest[0])
	if err != nil || keys < 0 || keys > len(rest)-1 {
		return failure("ERR Number of keys can't be greater than number of args")
	}
	return s.model.Eval(script, rest[1:1+keys], rest[1+keys:])
}

// listening is what changes what a client listens to; false: it is another command.
func (s *Server) listening(c *session, name string, names []string) bool {
	plain := strings.TrimPrefix(name, "S")
	sharded := name == "SSUBSCRIBE" || name == "SUNSUBSCRIBE"
	if !sharded {
		plain = name
	}
	switch plain {
	case "SUBSCRIBE":
		for _, n := range names {
			c.channels[channel{n, sharded}] = struct{}{}
			c.pending = appendPush(c.pending, c.resp3, strings.ToLower(name), n, c.count(sharded))
		}
	case "PUNSUBSCRIBE": // there are no patterns
		c.pending = appendPush(c.pending, c.resp3, strings.ToLower(name), nil, len(c.channels))
	case "UNSUBSCRIBE":
		if len(names) == 0 {
			names = c.named(sharded)
		}
		if len(names) == 0 {
			c.pending = appendPush(c.pending, c.resp3, strings.ToLower(name), nil, 0)
		}
		for _, n := range names {
			delete(c.channels, channel{n, sharded})
			c.pending = appendPush(c.pending, c.resp3, strings.ToLower(name), n, c.count(sharded))
		}
	default:
		return false
	}
	return true
}

func (c *session) count(sharded bool) int { return len(c.named(sharded)) }

func (c *session) named(sharded bool) (names []string) {
	for ch := range c.channels {
		if ch.sharded == sharded {
			names = append(names, ch.name)
		}
	}
	slices.Sort(names)
	return names
}
