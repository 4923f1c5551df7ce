package explore

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// The abstraction: what of a state the specification knows, in its words.

// ops are the specification's commands. A Confirm is a Renew that counts listeners besides.
var ops = map[gate.Op]string{
	gate.Acquire: "Acquire", gate.AcquireInLine: "Acquire", gate.Renew: "Renew", gate.Confirm: "Renew", gate.Release: "Release", gate.ReleaseFromLine: "Release",
}

// The specification's phases of a tenure, in the order of the gate's.
const (
	free  = "Free"
	asked = "Asked"
	ours  = "Ours"
	dead  = "Dead"
)

var phases = [...]string{free, asked, ours, dead}

// belief is what an engine knows of the only name.
type belief struct {
	phase    string
	id       uint64    // of its tenure; 0: it is free
	deadline gate.Time // of its tenure
	waits    string    // for which command; empty: for none
	orphans  []uint64  // by their tenures
	place    ownPlace
}

// ownPlace is the place of an engine in line, as it knows it.
type ownPlace struct {
	id   uint64 // of the tenure that would have the lock; 0: there is none
	code int64  // 0: none proves that it has
	sent gate.Time
}

// belief reads it from the gate, by the names of its fields.
func (e *engine) belief() belief {
	b := belief{phase: free}
	if e.dead || e.cells[0] == nil {
		return b
	}
	lock := reflect.ValueOf(e.cells[0].Machine).Elem()
	lease := lock.FieldByName("lease")
	if b.phase = phases[lease.FieldByName("phase").Uint()]; b.phase != free {
		b.id, b.deadline = lease.FieldByName("ID").Uint()-firstID, gate.Time(lease.FieldByName("Deadline").Int())
	}
	b.waits = ops[gate.Op(lock.FieldByName("flight").Uint())]
	for _, o := range e.orphans(0) {
		b.orphans = append(b.orphans, o.id-firstID)
	}
	place := lock.FieldByName("contest").Elem().FieldByName("rivals").Elem().FieldByName("place")
	if id := place.FieldByName("id").Uint(); id != 0 {
		b.place = ownPlace{id - firstID, place.FieldByName("code").Int(), gate.Time(place.FieldByName("sent").Int())}
	}
	return b
}

// orphan is a tenure that is to be released although it may not be in Redis.
type orphan struct {
	id uint64
	at gate.Time
}

// orphans are those of a name.
func (e *engine) orphans(name int) (all []orphan) {
	if e.dead || e.cells[name] == nil {
		return nil
	}
	lock := reflect.ValueOf(e.cells[name].Machine).Elem()
	known := lock.FieldByName("contest").Elem().FieldByName("rivals").Elem().FieldByName("orphans")
	for i := range known.Len() {
		o := known.Index(i)
		all = append(all, orphan{o.FieldByName("id").Uint(), gate.Time(o.FieldByName("at").Int())})
	}
	return all
}

// view is what of a state is compared.
func (s *state) view() fields {
	engines, holds := []fields{}, []fields{}
	for _, e := range s.engines {
		b := e.belief()
		deadline, waits, places := int64(0), []variant{}, []fields{}
		if b.phase == ours {
			deadline = e.truth(b.deadline)
		}
		if b.waits != "" {
			waits = append(waits, unit(b.waits))
		}
		if b.place.id != 0 {
			places = append(places, fields{"n": b.place.id, "proves": b.place.code != 0, "sent": e.truth(b.place.sent)})
		}
		engines = append(engines, fields{
			"phase": unit(b.phase), "n": b.id, "deadline": deadline, "waits": setOf(waits), "orphans": setOf(b.orphans),
			"listens": e.listens(), "places": setOf(places),
		})
	}
	for _, c := range s.callers {
		if c.hasHold() && !c.e.dead {
			holds = append(holds, fields{"caller": c.number, "id": c.e.id(c.hold.Tenure), "deadline": c.e.truth(c.hold.Deadline())})
		}
	}
	for len(engines) < specEngines {
		engines = append(engines, fields{
			"phase": unit(free), "n": 0, "deadline": 0, "waits": setOf[variant](nil), "orphans": setOf[uint64](nil),
			"listens": false, "places": setOf[fields](nil),
		})
	}
	return fields{"now": s.now, "key": s.key(), "line": s.line(), "engines": engines, "holds": setOf(holds)}
}

// specEngines is how many engines spec/replay.qnt has.
const specEngines = 3

// line is who stands in line in Redis, and when the line ends by itself.
func (s *state) line() fields {
	places, since, key := []fields{}, int64(-1), scripts.LineKey(nameOf(0))
	for _, p := range s.inLine(0) {
		for _, e := range s.engines {
			if n, mine := e.numberOf(p.owner); mine {
				place := fields{"id": e.id(n), "code": nobody}
				if p.code != "1" {
					place["code"] = e.id(n)
				}
				places = append(places, place)
			}
		}
	}
	if v := s.do("ZSCORE", key, "since"); v.Str != "" {
		score, err := strconv.ParseFloat(v.Str, 64)
		if err != nil {
			panic(err)
		}
		since = int64(score-behind)*1e6 - serverEpoch*1000
	}
	ends := int64(0)
	if len(places) > 0 || since >= 0 {
		ends = (s.now/1e6 + s.do("PTTL", key).Int + 1) * 1e6
	}
	return fields{"places": places, "since": since, "ends": ends}
}

// behind is BEHIND in scripts/line.lua.
const behind = 1 << 52

// listens reports whether the server sends to an engine what is for it alone.
func (e *engine) listens() bool {
	return e.s.subscribers[e.number][scripts.Inbox(scripts.LockChannel(nameOf(0)), e.uuid)]
}

// key is the owner in Redis, and when the key ends by itself.
func (s *state) key() fields {
	owner := s.ownerOf(0)
	for _, e := range s.engines {
		if number, mine := strings.CutPrefix(owner, e.uuid+":"); mine {
			n, _ := strconv.ParseUint(number, 10, 64)
			return fields{"owner": e.id(n), "ends": (s.now/1e6 + s.do("PTTL", nameOf(0)).Int + 1) * 1e6}
		}
	}
	return fields{"owner": nobody, "ends": 0}
}

// nobody is the owner of a key that is not there.
var nobody = fields{"engine": -1, "n": 0}

// id is the owner id of a tenure.
func (e *engine) id(number uint64) fields { return fields{"engine": e.number, "n": number - firstID} }

// command is a command that has left.
func (e *engine) command(f *flight) fields {
	return fields{
		"engine": e.number, "op": unit(ops[f.Op]), "wish": e.wish(&f.Command), "id": e.id(f.ID), "lease": f.LeaseTime,
		"sent": e.truth(f.Sent), "notAfter": notAfter(f),
	}
}

// wish is what a command says of a place in line. An outsider says nothing.
func (e *engine) wish(c *gate.Command) variant {
	switch {
	case e.outside || c.Op != gate.AcquireInLine && c.Op != gate.ReleaseFromLine:
		return unit("Outside")
	case c.Op == gate.AcquireInLine && c.Args.Place().Code == 1:
		return unit("Woken")
	}
	return unit("Given")
}

// notAfter is the true time after which a command does nothing, as its script was told; 0: it was told nothing.
func notAfter(f *flight) int64 {
	if ops[f.Op] != "Acquire" {
		return 0
	}
	millis, err := strconv.ParseInt(f.args[0], 10, 64)
	if err != nil {
		panic(err)
	}
	return millis*1e6 - serverEpoch*1000
}

// answerOf is the specification's word for a reply.
func answerOf(op gate.Op, r scripts.Reply) string {
	_, late := r.Late()
	switch place := r.Place(); {
	case late:
		return "Late"
	case r.Fault() != scripts.None:
		return "Refused"
	case op == gate.AcquireInLine && place.Stands && place.New:
		return "Joined"
	case op == gate.AcquireInLine && place.Stands:
		return "Stood"
	case r < 0 && (ops[op] != "Release" || r != scripts.PublishDenied):
		return "No"
	}
	return "Yes"
}

// Values in the Informal Trace Format.

type fields map[string]any

type variant struct {
	Tag   string `json:"tag"`
	Value any    `json:"value"`
}

// unit is a variant without a value.
func unit(tag string) variant { return variant{tag, fields{"#tup": []int{}}} }

func setOf[V any](all []V) fields {
	if all == nil {
		all = []V{}
	}
	return fields{"#set": all}
}
