package doctor

import (
	"strings"
	"testing"
)

// What is found at several servers is told once, and servers are named where they differ.
func TestTextOfSeveralServers(t *testing.T) {
	t.Parallel()
	r := &Report{Deployment: "a cluster", servers: []string{"a:1", "b:2", "c:3"}}
	for _, server := range []string{"a:1", "b:2", "c:3"} {
		r.Findings = append(r.Findings,
			Finding{Check: "persistence", Server: server, Severity: Warning, Found: "there is none", Harm: "h"},
			Finding{Check: "version", Server: server, Severity: OK, Found: "Redis 7.0.15"},
			Finding{Check: "rights", Server: server, Severity: OK},
		)
		channels := Finding{Check: "channels", Server: server, Severity: OK}
		if server == "b:2" {
			channels.Severity, channels.Found = Note, "somebody listens"
		}
		r.Findings = append(r.Findings, channels)
	}
	r.Findings = append(r.Findings, Finding{Check: "replicas", Server: "a:1", Severity: Warning, Found: "goes on alone"}, Finding{Check: "locks", Severity: OK})
	for _, server := range []string{"a:1", "c:3"} {
		r.Findings = append(r.Findings, Finding{Check: "cluster", Server: server, Severity: Warning, Found: "no replica"})
	}
	r.sum()
	lines := strings.Split(r.String(), "\n")
	for _, want := range []string{
		"warning: persistence at each of 3 servers", "warning: replicas at a:1", "warning: cluster at a:1, c:3", "note: channels at b:2",
		"ok: version: Redis 7.0.15", "ok: rights, channels at a:1, c:3, locks",
	} {
		if n := strings.Count("\n"+strings.Join(lines, "\n"), "\n"+want+"\n"); n != 1 {
			t.Errorf("%d lines %q in\n%s", n, want, r)
		}
	}
	if !strings.HasSuffix(r.String(), "\nerrors: 0, warnings: 3, notes: 1, could not look: 0\n") {
		t.Errorf("each finding counts once, as it is told:\n%s", r)
	}
	r.servers, r.Findings = r.servers[:1], r.Findings[:1]
	if !strings.Contains(r.String(), "\nwarning: persistence\n") {
		t.Errorf("a single server is named:\n%s", r)
	}
}
