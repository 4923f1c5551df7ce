package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// run tries every mutant of which it is not known what becomes of it. Interrupted, it ends with those that are being tried.
func (p *plan) run(o *options, work string, results *Results, explained Explained, progress *progress) error {
	var left []*Mutant
	for _, m := range p.all {
		known, ok := results.of(m)
		if explained.reason(m) != "" || ok && (known.Killed || !o.again) {
			continue
		}
		left = append(left, m)
	}
	progress.begin(len(left))
	last := &latest{first: p.first, by: make(map[string][]string)}
	stopped, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	dir := filepath.Join(work, "mutant")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for _, m := range left {
		if stopped.Err() != nil {
			break
		}
		result, err := p.kill(m, dir, last)
		if err == nil {
			err = results.add(m, result)
		}
		if err != nil {
			return errors.Join(err, results.save())
		}
		progress.done(m, result)
	}
	return results.save()
}

// latest remembers by which tests the last mutants of each file were found: those are tried first on the next.
type latest struct {
	first []string // those of a file of which none was found yet
	by    map[string][]string
}

const remembered = 4

func (l *latest) of(file string) []string {
	if l.by[file] == nil {
		return l.first
	}
	return slices.Clone(l.by[file])
}

func (l *latest) note(file, killer string) {
	if l.by[file] == nil {
		l.by[file] = slices.Clone(l.first)
	}
	names := slices.DeleteFunc(l.by[file], func(name string) bool { return name == killer })
	names = slices.Insert(names, 0, killer)
	l.by[file] = names[:min(len(names), remembered)]
}

// kill runs the killers of a mutant until one finds it.
func (p *plan) kill(m *Mutant, dir string, last *latest) (Result, error) {
	began := time.Now()
	result := Result{Where: fmt.Sprintf("%s:%d", m.File, m.Line), From: m.From, To: m.To}
	for _, k := range p.killersOf(m, last.of(m.File)) {
		o, err := p.surely(k, m, dir, patience)
		if err != nil {
			return result, err
		}
		if o.failed {
			result.Killed, result.By, result.Explore, result.Why = true, k.Name, k.Explorer, o.why
			if o.test != "" && !k.Explorer {
				result.By = o.test
			}
			if o.why != timedOut { // else each mutant of the file would wait for it first
				last.note(m.File, result.By)
			}
			break
		}
	}
	result.Seconds = float64(time.Since(began).Milliseconds()) / 1000
	return result, nil
}

// surely runs a killer of a mutant. That the clock ends a run counts only if it ends the next one, too, and not one without the
// mutant in between: others may have had the processors, or these processes may have been stopped. If it ends that one, too, the
// next ones have twice the time.
func (p *plan) surely(k *Killer, m *Mutant, dir string, more time.Duration) (o outcome, err error) {
	run := func(change *Mutant, more time.Duration) (late bool) {
		var env []string
		if err == nil {
			env, err = p.ready(dir, change)
		}
		if err == nil {
			o = k.run(dir, more, env...)
		}
		return err == nil && o.why == timedOut
	}
	for ; run(m, more); more *= 2 {
		if !run(nil, more) {
			run(m, more)
			break
		}
	}
	return o, err
}
