package redismodel

import (
	"slices"
	"sync/atomic"
)

// kind is the type of what stands under a key.
type kind byte

const (
	aString kind = iota
	aHash
	aList
	aSet
	aZset
)

var kindNames = [...]string{aString: "string", aHash: "hash", aList: "list", aSet: "set", aZset: "zset"}

// element is a part of a value: a field and its value, an item of a list, a member of a set, a member and its score.
type element struct {
	name  string
	value string
	score float64
}

// object is what stands under a key. It may be written only in the epoch in which it was made: later a Snapshot may know it.
type object struct {
	kind  kind
	epoch uint64
	text  string    // of a string
	parts []element // of the others: fields as they came, items in order, members by score and name
}

// item is a key.
type item struct {
	key     string
	object  *object
	expires int64 // ms since 1970; 0: never
}

// keyspace is the keys, in order. A slice is quick for the few that a world of the explorer has.
type keyspace struct {
	items []item
	epoch uint64
	mine  bool // items may be written: no Snapshot knows this slice
}

// epochs counts the epochs of all servers, so that no object can be taken for one of another's.
var epochs atomic.Uint64

// freeze begins a new epoch: what stands now is not written any more.
func (k *keyspace) freeze() {
	k.epoch, k.mine = epochs.Add(1), false
}

// write makes items one's own, before any of them changes.
func (k *keyspace) write() {
	if !k.mine {
		k.items, k.mine = append(make([]item, 0, len(k.items)+4), k.items...), true
	}
}

// place is where a key is, or belongs.
func (k *keyspace) place(key string) (at int, found bool) {
	for at < len(k.items) && k.items[at].key < key {
		at++
	}
	return at, at < len(k.items) && k.items[at].key == key
}

// remove deletes the key at a place.
func (k *keyspace) remove(at int) {
	k.write()
	k.items = slices.Delete(k.items, at, at+1)
}

// find gives what stands under a key, to read; nil: nothing. What has run out is deleted.
func (s *Server) find(key string) *object {
	at, found := s.at(key)
	if !found {
		return nil
	}
	return s.keys.items[at].object
}

// at is the place of a key that has not run out.
func (s *Server) at(key string) (at int, found bool) {
	at, found = s.keys.place(key)
	if found && s.hasRunOut(&s.keys.items[at]) {
		s.keys.remove(at)
		return at, false
	}
	return at, found
}

// hasRunOut: a key lives on for the millisecond that is named as its end.
func (s *Server) hasRunOut(i *item) bool { return i.expires != 0 && s.millis() > i.expires }

// sweep deletes all that has run out, as Redis does now and then.
func (s *Server) sweep() {
	for at := len(s.keys.items) - 1; at >= 0; at-- {
		if s.hasRunOut(&s.keys.items[at]) {
			s.keys.remove(at)
		}
	}
}

// own gives the value at a place to be written.
func (s *Server) own(at int) *object {
	s.keys.write()
	o := s.keys.items[at].object
	if o.epoch != s.keys.epoch {
		o = &object{kind: o.kind, epoch: s.keys.epoch, text: o.text, parts: append(make([]element, 0, len(o.parts)+2), o.parts...)}
		s.keys.items[at].object = o
	}
	return o
}

// have gives the value of a key to be written, made when it is not there. nil: another type stands there.
func (s *Server) have(key string, kind kind) *object {
	at, found := s.at(key)
	if found {
		if s.keys.items[at].object.kind != kind {
			return nil
		}
		return s.own(at)
	}
	s.keys.write()
	o := &object{kind: kind, epoch: s.keys.epoch}
	s.keys.items = slices.Insert(s.keys.items, at, item{key: key, object: o})
	return o
}

// set puts a string under a key, whatever stood there.
func (s *Server) set(key, value string, expires int64) {
	at, found := s.at(key)
	s.keys.write()
	o := &object{kind: aString, epoch: s.keys.epoch, text: value}
	if !found {
		s.keys.items = slices.Insert(s.keys.items, at, item{key: key})
	}
	s.keys.items[at].object, s.keys.items[at].expires = o, expires
}

// drop deletes a key if it is there.
func (s *Server) drop(key string) bool {
	at, found := s.at(key)
	if found {
		s.keys.remove(at)
	}
	return found
}
