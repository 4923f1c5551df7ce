package bubble

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/wheellock/wheellock/internal/redisnet"
)

// faults makes things go wrong.
type faults struct {
	w      *World
	r      *rand.Rand
	undone sync.WaitGroup
	saved  map[*redisnet.Server]redisnet.Saved
}

// refusals are the words of servers that refuse writes.
var refusals = []string{
	"READONLY You can't write against a read only replica.",
	"NOREPLICAS Not enough good replicas to write.",
	"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
	"OOM command not allowed when used memory > 'maxmemory'.",
}

// one has something go wrong, mostly for one process.
func (f *faults) one(p *process) {
	r, w := f.r, f.w
	d := spread(r, time.Millisecond, 2*w.plan.lease)
	at := r.IntN(len(w.servers))
	s, l := w.servers[at], p.links[at]
	until := time.Now().Add(d)
	p.trouble(d)
	n := r.IntN(44)
	if w.plan.hot && r.IntN(3) == 0 { // the link breaks under a hot lock
		n = []int{17, 21, 28}[r.IntN(3)]
	}
	switch {
	case n < 17:
		f.hinder(p, l, s.Name, n, d)
	case n < 18:
		w.note("%v %s: cut", p, s.Name)
		l.Cut()
	case n < 21:
		bytes, answers := r.IntN(2000), r.IntN(2) == 0
		d = max(d, w.plan.think)
		w.note("%v %s: cut %d bytes further, of answers: %t, if they come within %v", p, s.Name, bytes, answers, d)
		l.CutBehind(bytes, answers)
		p.trouble(d + w.plan.lease/3)
		f.undo(d, func() { l.CutBehind(-1, answers) })
	case n < 22:
		w.note("%v %s: cut, and connections refused for %v", p, s.Name, d)
		l.Refuse(until)
		l.Cut()
	case n < 23:
		w.note("%v %s: cut, and who connects hears nothing for %v", p, s.Name, d)
		l.Silence(until)
		l.Cut()
		p.trouble(d + 2*time.Second)
	case n < 27:
		words, after := refusals[r.IntN(len(refusals))], r.IntN(6)
		w.note("%s refuses behind %d commands for %v: %s", s.Name, after, d, words)
		f.everybody(d)
		s.RefuseBehind(after, words)
		f.undo(d, func() { w.note("%s refuses no more", s.Name); s.Refuse("", 0) })
	case n < 28:
		f.loseKey(s)
	case n < 29:
		f.restart(s, d)
	case n < 30:
		w.note("%s forgets its scripts", s.Name)
		s.FlushScripts()
	case n < 32:
		late := spread(r, 100*time.Millisecond, 2*time.Second)
		d = spread(r, time.Millisecond, max(d, 20*time.Second)) // it is asked for every 10 s
		w.note("%s reads its clock %v late for %v", s.Name, late, d)
		f.everybody(d + late)
		s.SlowTime(late)
		if r.IntN(2) == 0 { // who connects asks for it
			l.Cut()
		}
		f.undo(d, func() { s.SlowTime(0) })
	case n < 33 && w.plan.lease >= 2*orphanTime && r.IntN(3) == 0: // else what is left runs out before it is seen
		f.misread(p, at)
	case n < 35:
		w.note("%v stands still for %v", p, d)
		p.stop(d)
		f.undo(d, func() { w.judge.look() })
	case n < 38:
		f.suspend(p, d)
	case n < 42: // what comes after what has replaced it
		late := spread(r, 100*time.Millisecond, 4*time.Second)
		if r.IntN(2) == 0 { // about when what is late does nothing any more
			late = 2*time.Second + time.Duration(r.Int64N(int64(time.Second)))
		}
		w.note("%v %s: up on the connections of now is held for %v", p, s.Name, late)
		l.HoldUp(time.Now().Add(late))
		p.trouble(late)
	default:
		crash := r.IntN(2) == 0
		p.restart(crash)
	}
}

// misread has a process learn the server's clock by a question that is late, and then ask for a name that nobody else wants, so late
// that the engine has cleaned up. Nothing else befalls it until it is seen what is left.
func (f *faults) misread(p *process, at int) {
	s, l, r := f.w.servers[at], p.links[at], f.r
	p.rest(restTime + max(0, -p.well()))
	time.Sleep(-p.well()) // what befalls it now would excuse what is left
	late := 700*time.Millisecond + time.Duration(r.Int64N(int64(500*time.Millisecond)))
	f.w.note("%s reads its clock %v late for %v", s.Name, late, 2*late)
	f.everybody(2 * late)
	s.SlowTime(late)
	l.Cut() // who connects asks for it
	time.Sleep(2 * late)
	s.SlowTime(0)

	arrives := cleanTime + f.w.plan.travel + time.Duration(r.Int64N(int64(late/2-250*time.Millisecond)))
	name := fmt.Sprintf("late%d", r.Uint64())
	f.w.note("%v %s: what asks for %s arrives %v later", p, s.Name, name, arrives)
	l.Up.HoldUpNamed(name, arrives)
	p.trouble(arrives)
	p.rest(restTime - p.well())
	_, alive := p.all()
	c := newCaller(p, f.w.plan.callers)
	c.call(c.answerTime(), "TryLock "+name, func() error {
		h, err := p.engine(at).Mutex(name).TryLock(alive)
		if err == nil {
			h.UnlockAsync()
		}
		return err
	})
	time.Sleep(restTime - p.well())
}

// hinder delays, holds up or loses what goes one way over a process' link to a server.
func (f *faults) hinder(p *process, l *redisnet.Link, server string, n int, d time.Duration) {
	way, name := &l.Up, "up"
	if n >= 3 && n < 6 || n >= 9 && n < 12 || n >= 14 {
		way, name = &l.Down, "down"
	}
	switch until := time.Now().Add(d); {
	case n < 6:
		late := spread(f.r, f.w.plan.travel, d)
		f.w.note("%v %s: %s %v later, for %v", p, server, name, late, d)
		way.Delay(func() time.Duration { return p.travel() + late })
		p.trouble(d + late)
		f.undo(d, func() { way.Delay(p.travel) })
	case n < 12:
		f.w.note("%v %s: %s is held for %v", p, server, name, d)
		way.Hold(until)
	default:
		f.w.note("%v %s: %s is lost for %v", p, server, name, d)
		way.Lose(until)
		p.trouble(d + f.w.plan.lease/3)
	}
}

// strike waits until the process asks for something, for a while, and loses the answer, in whole or in part: the others of the burst
// follow at once.
func (f *faults) strike(p *process) {
	at := f.r.IntN(len(f.w.servers))
	l, how := p.links[at], f.r.IntN(3)
	d, bytes := spread(f.r, time.Millisecond, f.w.plan.lease), f.r.IntN(8)
	struck := make(chan struct{}, 1)
	f.w.servers[at].AtNextScript(p.String(), func() {
		switch how {
		case 0:
			l.Down.Lose(time.Now().Add(d))
		case 1:
			l.Down.Hold(time.Now().Add(d))
		case 2:
			l.CutBehind(bytes, true)
		}
		struck <- struct{}{}
	})
	select {
	case <-struck:
		f.w.note("%v %s: the answer is %s", p, f.w.servers[at].Name, []string{"lost", "held up", "cut"}[how])
		p.trouble(d + f.w.plan.lease/3)
	case <-time.After(f.w.plan.faults):
		f.w.servers[at].AtNextScript("", nil)
	}
}

// undo does something later.
func (f *faults) undo(later time.Duration, what func()) {
	f.undone.Go(func() {
		time.Sleep(later)
		what()
	})
}

// everybody notes that something befalls all processes.
func (f *faults) everybody(d time.Duration) {
	for _, p := range f.w.processes {
		p.trouble(d + f.w.plan.lease/3)
	}
}

// noticeTime is after how long an engine has noticed a suspension, at most. Its timers are the bubble's and have rung meanwhile.
const noticeTime = 1100 * time.Millisecond

// suspend suspends the machine of a process: it stands still, and its clock does not count that. Without stalls it only stands still.
func (f *faults) suspend(p *process, d time.Duration) {
	f.w.note("%v: machine suspended for %v", p, d)
	p.stop(d)
	if stalls {
		p.clock.suspend(d)
		p.keep(d + noticeTime)
	}
	f.undo(d, func() { f.w.judge.look() })
}

// loseKey deletes a name, as an operator does.
func (f *faults) loseKey(s *redisnet.Server) {
	sub := f.w.subjects[f.r.IntN(len(f.w.subjects))]
	part := sub.parts[f.r.IntN(len(sub.parts))]
	f.w.note("%s: DEL %s", s.Name, part)
	f.everybody(0)
	f.w.judge.destroy(ids(s))
	sub.tally.destroy()
	s.Do("DEL", part)
}

// restart ends a server and starts it again: with what it knew, with nothing, or with what it knew once.
func (f *faults) restart(s *redisnet.Server, d time.Duration) {
	with := f.r.IntN(4)
	f.everybody(d + time.Second)
	f.w.note("%s dies for %v, and comes back %s", s.Name, d, []string{"as it was", "as it was", "empty", "as it was once"}[with])
	s.Stop()
	if with >= 2 {
		f.w.judge.destroy(ids(s))
		for _, sub := range f.w.subjects {
			sub.tally.destroy()
		}
	}
	var was *redisnet.Saved
	switch with {
	case 2:
		was = new(redisnet.Saved)
	case 3:
		once := f.saved[s]
		was = &once
	}
	if f.saved == nil {
		f.saved = make(map[*redisnet.Server]redisnet.Saved)
	}
	f.saved[s] = s.Save()
	time.Sleep(d)
	s.Start(was)
	f.w.judge.destroy(ids(s))
	if f.r.IntN(3) == 0 {
		f.w.note("%s is loading", s.Name)
		f.everybody(d + time.Second)
		s.Load(d)
	}
}
