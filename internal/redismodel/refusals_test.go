package redismodel

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A duel makes a server refuse writes by commands of the administrator, which asModel carries out on the model.

// refusals are those commands, and what ends each.
var refusals = map[string]struct{ begin, end []string }{
	"READONLY":   {[]string{"REPLICAOF", "127.0.0.1", "1"}, []string{"REPLICAOF", "NO", "ONE"}},
	"NOREPLICAS": {[]string{"CONFIG", "SET", "min-replicas-to-write", "1"}, []string{"CONFIG", "SET", "min-replicas-to-write", "0"}},
	"OOM":        {[]string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}},
	"MISCONF":    {[]string{"CONFIG", "SET", "save", "3600 1"}, []string{"CONFIG", "SET", "save", ""}},
}

// rights are commands that a user may be forbidden, and rightsBack allows them again.
var (
	rights = []string{
		"hset", "hdel", "pexpire", "pttl", "hmget", "hexists", "hgetall", "hget", "hlen", "set", "get", "incrby", "decrby", "del", "exists", "type", "time", "publish",
		"pubsub", "spublish", "zadd", "zrem", "zscore", "zrange", "zremrangebyscore", "lindex", "lrange", "lpos", "rpush", "lpush", "lrem", "lpop",
	}
	rightsBack = []string{"ACL", "SETUSER", "default", "+@all"}
)

// rightsWords are those by which a script hears of a right that is missing.
var rightsWords string

// refusalWords are the words of the server at hand.
var refusalWords map[string]string

// learnRefusals asks the server for the words in which it refuses.
func (r *rival) learnRefusals() {
	r.Helper()
	dir := r.MustDo("CONFIG", "GET", "dir").Texts()[1]
	if err := os.Mkdir(filepath.Join(dir, "dump.rdb"), 0o700); err != nil { // where the snapshot belongs
		r.Fatal(err)
	}
	r.MustDo("BGSAVE")
	for end := time.Now().Add(10 * time.Second); !strings.Contains(r.MustDo("INFO", "persistence").Text, "rdb_last_bgsave_status:err"); {
		if time.Now().After(end) {
			r.Fatal("the snapshot did not fail")
		}
		time.Sleep(time.Millisecond)
	}
	refusalWords = make(map[string]string)
	for name, refusal := range refusals {
		r.MustDo(refusal.begin...)
		refusalWords[name] = r.Do("SET", "x", "1").Text
		r.MustDo(refusal.end...)
		if !strings.HasPrefix(refusalWords[name], name) {
			r.Fatalf("%q answered %q", refusal.begin, refusalWords[name])
		}
	}
	r.MustDo("ACL", "SETUSER", "default", "-get")
	rightsWords = r.MustDo("EVAL", "return redis.pcall('GET', 'x').err .. ''", "0").Text
	r.MustDo(rightsBack...)
}

// asModel runs a command of a duel on the model.
func (r *rival) asModel(s *Server, command []string) Value {
	switch command[0] {
	case "REPLICAOF", "CONFIG":
		for name, refusal := range refusals {
			switch strings.Join(command, " ") {
			case strings.Join(refusal.begin, " "):
				s.Refuse(refusalWords[name], 0)
			case strings.Join(refusal.end, " "):
				s.Refuse("", 0)
			}
		}
		return ok
	case "ACL":
		if command[3] == rightsBack[3] {
			s.Forbid("")
		} else {
			s.Forbid(rightsWords, command[3][1:])
		}
		return ok
	case "EVAL":
		return s.Eval(command[1], nil, command[3:])
	}
	return s.Do(command...)
}
