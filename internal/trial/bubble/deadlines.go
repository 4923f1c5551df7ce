package bubble

import (
	"strings"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redismodel"
	"github.com/wheellock/wheellock/internal/redisnet"
)

// deadline judges that a valid hold is no longer valid than its key stands, with its owner in it.
func (j *judge) deadline(one *held) {
	if one.s.kind == quorumKind || one.permits > 0 {
		return
	}
	truly := time.Now().Add(one.p.clock.truly(time.Until(one.h.Deadline())))
	for i, part := range one.s.parts {
		s := j.w.servers[0]
		left, there := stands(s, part, j.id(one, i))
		switch {
		case !there && one.shared && one.owner != (engine.Owner{}): // a reader of a writer of its own is not seen in Redis
		case !there:
			j.w.violation("deadline", "%v holds %s until %v as %v, which is not there", one.p, part, truly.Sub(j.w.began), one.ids)
		case left >= 0 && time.Now().Add(left).Before(truly):
			j.w.violation("deadline", "%v holds %s until %v as %v, and the key ends at %v", one.p, part, truly.Sub(j.w.began), one.ids, time.Now().Add(left).Sub(j.w.began))
		}
	}
}

// id is the owner field of a part: those of several locks are in the order of the names.
func (j *judge) id(one *held, part int) string {
	if len(one.ids) != len(one.s.parts) {
		return one.ids[0]
	}
	return one.ids[part]
}

// stands reports whether an owner has a key, and what is left of the key; negative: for ever.
func stands(s *redisnet.Server, key, id string) (left time.Duration, there bool) {
	if s.Do("GET", key).Str != id && s.Do("HEXISTS", key, id).Int == 0 && s.Do("HEXISTS", key, strings.TrimSuffix(id, ":write")).Int == 0 && s.Do("HEXISTS", key, id+":write").Int == 0 {
		return 0, false
	}
	ms := s.Do("PTTL", key).Int
	return s.Truly(time.Duration(ms+1) * time.Millisecond), true
}

// owners are the owner fields on a server, by their keys.
func owners(s *redisnet.Server) (all map[string][]string) {
	s.Look(func(m *redismodel.Server) { all = ownersIn(m) })
	return all
}

func ownersIn(m *redismodel.Server) map[string][]string {
	all := make(map[string][]string)
	for _, key := range m.Keys() {
		var fields []redismodel.Value
		switch what := m.Do("TYPE", key).Str; {
		case what == "string": // of a simple lock
			fields = append(fields, m.Do("GET", key))
		case what == "hash" && !strings.HasSuffix(key, ":wheellock:claims"): // whose fields are engines that wait
			fields = m.Do("HKEYS", key).Array
		}
		for _, field := range fields {
			if field.Kind == redismodel.Str && field.Str != "mode" && strings.Count(field.Str, "-") == 4 {
				all[key] = append(all[key], field.Str)
			}
		}
	}
	return all
}

// ids are the owner fields on a server.
func ids(s *redisnet.Server) (all []string) {
	s.Look(func(m *redismodel.Server) { all = idsIn(m) })
	return all
}

func idsIn(m *redismodel.Server) (all []string) {
	for _, fields := range ownersIn(m) {
		all = append(all, fields...)
	}
	return all
}
