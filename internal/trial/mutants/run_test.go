package main

import (
	"testing"
	"time"
)

// A run that waits for ever finds a mutant. One that waits for a machine that is busy says nothing.
func TestWhoWaitsMayWaitForTheMachine(t *testing.T) {
	p := &plan{ready: func(_ string, m *Mutant) ([]string, error) {
		if m == nil {
			return nil, nil
		}
		return []string{"MUTANT=1"}, nil
	}}
	for name, of := range map[string]struct {
		script string
		found  bool
	}{
		"for ever":                    {`test -z "$MUTANT" || sleep 1000`, true},
		"once":                        {`echo >> runs; test $(wc -l < runs) -gt 1 || sleep 1000`, false},
		"with the mutant and without": {`echo >> runs; test $(wc -l < runs) -gt 2 || sleep 1000`, false},
		"and fails then":              {`echo >> runs; test $(wc -l < runs) -gt 1 || sleep 1000; test -z "$MUTANT"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &Killer{binary: "sh", args: []string{"-c", of.script}}
			if o, err := p.surely(k, new(Mutant), t.TempDir(), 3*time.Second); err != nil || o.failed != of.found {
				t.Errorf("found %t, %s, %v, want %t", o.failed, o.why, err, of.found)
			}
		})
	}
}
