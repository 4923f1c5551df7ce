package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// measure runs every killer without a mutant, and drops those that take too long, and those that fail: what they say would mean nothing.
// Those that do not tell what they reach are measured once: the file of results has a second one beside it with their times.
func (p *plan) measure(o *options, say func(string, ...any), reach func(k *Killer, file string) error, dir string) error {
	env, err := p.ready(dir, nil)
	if err != nil {
		return err
	}
	times := make(map[string]time.Duration)
	if text, err := os.ReadFile(o.results + ".times"); err == nil && reach == nil {
		if err := json.Unmarshal(text, &times); err != nil {
			return err
		}
	}
	began := time.Now()
	var kept []*Killer
	for i, k := range p.killers {
		if times[k.Name] == 0 {
			say("%d of %d test runs without a mutant, %v", i, len(p.killers), time.Since(began).Round(time.Second))
			if times[k.Name], err = p.time(k, o.most, reach, dir, env); err != nil {
				return err
			}
		}
		if k.took = times[k.Name]; k.took <= o.most {
			kept = append(kept, k)
		}
	}
	p.killers = kept
	if reach != nil {
		return nil
	}
	maps.DeleteFunc(times, func(_ string, took time.Duration) bool { return took == never })
	text, err := json.MarshalIndent(times, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(o.results+".times", text, 0o644)
}

// never is how long a run takes that fails without a mutant.
const never = time.Hour

// time measures one.
func (p *plan) time(k *Killer, most time.Duration, reach func(k *Killer, file string) error, dir string, env []string) (time.Duration, error) {
	file := filepath.Join(dir, "reached")
	os.Remove(file)
	k.took = most
	o := k.run(dir, patience, append(env, "WHEELLOCK_REACHED="+file)...)
	if o.failed {
		fmt.Fprintf(os.Stderr, "%s is left out, for without a mutant: %s\n", k.Name, o.why)
		return never, nil
	}
	if reach != nil {
		return o.took, reach(k, file)
	}
	return o.took, nil
}
