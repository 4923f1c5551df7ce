package view

import (
	"slices"
	"time"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/engine"
)

// happening is a line of watch. Its JSON names are part of what watch promises.
type happening struct {
	Time  time.Time `json:"time"`
	Event string    `json:"event"`
	cli.Named
	Owner   *Owner      `json:"owner,omitempty"` // that has it now, or, of freed and lost, had it
	Kind    engine.Kind `json:"kind,omitempty"`  // this and the rest is what is there now
	TTL     int64       `json:"ttl_ms,omitempty"`
	Holders int64       `json:"holders"`
	Token   int64       `json:"token,omitempty"`
	Waiting *int64      `json:"waiting,omitempty"`
}

// begin tells what is there when nothing was known.
func (w *watch) begin(s *sight) {
	switch {
	case s.Foreign != "":
		w.env.Note("%s is not a lock: the key is a %s", shown(s.Name), s.Foreign)
	case s.Kind == "" && s.Free != nil:
		w.env.Note("%s is a semaphore or a latch, which have no owners", shown(s.Name))
	}
	if s.Holders == 0 {
		w.tell("free", s, nil)
	} else if len(s.Owners) == 0 {
		w.tell("held", s, nil)
	}
	for i := range s.Owners {
		w.tell("held", s, &s.Owners[i])
	}
}

// compare tells how two sights of a name differ: who has it no longer comes first.
func (w *watch) compare(before, now *sight) {
	told := w.told
	switch counted := now.counted() || before.counted(); {
	case counted && now.Holders < before.Holders:
		w.tell("freed", now, nil)
	case counted && now.Holders > before.Holders:
		w.tell("granted", now, nil)
	case counted:
	default:
		for i := range before.Owners {
			o := &before.Owners[i]
			switch {
			case now.has(o.ID) || now.has(o.ID+gate.DetachedSuffix):
			case !o.Detached && before.TTL >= 0 && !now.read.Before(before.end()):
				w.tell("lost", now, o)
			default:
				w.tell("freed", now, o)
			}
		}
		for i := range now.Owners {
			o := &now.Owners[i]
			switch {
			case before.has(o.ID):
			case o.Detached:
				w.tell("detached", now, o)
			default:
				w.tell("granted", now, o)
			}
		}
	}
	if w.told == told && number(before.Waiting) != number(now.Waiting) {
		w.tell("waiting", now, nil)
	}
}

// counted reports whether only the number of the holders is known.
func (s *sight) counted() bool { return s.Holders > int64(len(s.Owners)) }

// has reports whether an owner has the lock.
func (s *sight) has(owner string) bool {
	return slices.ContainsFunc(s.Owners, func(o Owner) bool { return o.ID == owner })
}

// tell writes a line, if there may be one more.
func (w *watch) tell(event string, s *sight, o *Owner) {
	if w.count > 0 && w.told == w.count {
		return
	}
	w.told++
	w.env.Value(&happening{Time: s.read, Event: event, Named: s.Named, Kind: s.Kind, Owner: o, TTL: s.TTL, Holders: s.Holders, Token: s.Token, Waiting: s.Waiting})
}
