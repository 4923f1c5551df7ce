package doctor

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/internal/redistest"
)

// keeps are the arguments of a server that a restart of any kind makes forget nothing.
var keeps = []string{"--appendonly", "yes", "--appendfsync", "always"}

// healthy starts a server that has nothing wrong, but for args.
func healthy(t *testing.T, args ...string) *redistest.Server {
	t.Helper()
	return redistest.Start(t, append(slices.Clone(keeps), args...)...)
}

// doctor runs the command.
func doctor(t *testing.T, words ...string) (stdout, stderr string, exit int) {
	t.Helper()
	var out, complaints bytes.Buffer
	c := Command()
	exit = c.Execute(t.Context(), &cli.Env{Stdout: &out, Stderr: &complaints}, words)
	return out.String(), complaints.String(), exit
}

// examined returns what doctor reports, and checks that the exit code is that of the report. A later word wins.
func examined(t *testing.T, words ...string) *Report {
	t.Helper()
	out, complaints, exit := doctor(t, append([]string{"--json", "--during", "100ms", "--lease", "1h"}, words...)...)
	r := &Report{}
	if err := json.Unmarshal([]byte(out), r); err != nil || complaints != "" {
		t.Fatalf("%v: %s%s", err, out, complaints)
	}
	if want := map[Severity]int{OK: 0, Note: 0, Warning: 1, Error: 2}[r.Worst]; exit != want {
		t.Errorf("exit code %d, want %d for %q", exit, want, r.Worst)
	}
	return r
}

// find returns the findings of a check.
func (r *Report) find(check string) (found []Finding) {
	for _, f := range r.Findings {
		if f.Check == check {
			found = append(found, f)
		}
	}
	return found
}

// want fails the test unless the check found that, at this severity, and no other check anything, but for those that may.
func (r *Report) want(t *testing.T, check string, severity Severity, words string, may ...string) Finding {
	t.Helper()
	var match Finding
	for _, f := range r.Findings {
		switch {
		case f.Check == check && f.Severity == severity && strings.Contains(f.Found, words):
			match = f
		case f.Severity != OK && f.Check != check && !slices.Contains(may, f.Check):
			t.Errorf("%s: %s: %s", f.Severity, f.Check, f.Found)
		}
	}
	if match.Check == "" {
		t.Fatalf("%s found %+v, want %s: %q", check, r.find(check), severity, words)
	}
	if severity != Unknown && severity != OK && (match.Harm == "" || len(match.Set) == 0) && check != "connection" {
		t.Errorf("the finding does not say what it does to locks, or what to set: %+v", match)
	}
	return match
}

// wantHealthy fails the test unless all checks were made and found nothing.
func (r *Report) wantHealthy(t *testing.T) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Severity != OK {
			t.Errorf("%s: %s at %s: %s", f.Severity, f.Check, f.Server, f.Found)
		}
	}
	for _, c := range checks {
		if r.find(c.name) == nil {
			t.Errorf("%s was not made", c.name)
		}
	}
}
