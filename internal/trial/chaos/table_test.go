package chaos

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testedBy has the invariants that no fault of the table tests, and which tests do instead.
var testedBy = map[string]string{"25": "replicas", "26": "cluster", "30": "the bubble, and engine.TestQuorumStandsOnAllServers",
	"31": "the bubble, and dispatcher/gate.TestRiskScenes", "32": "dispatcher/gate.TestCostOfAnEvent", "33": "the explorer, and engine.TestLimit"}

// Some fault of the table tests every invariant of INVARIANTS.md, and every fault is in some phase.
func TestTableOfFaults(t *testing.T) {
	invariants, err := os.ReadFile("../../../dispatcher/gate/INVARIANTS.md")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/RELIABILITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, listed, _ := strings.Cut(string(page), "\nThe invariants: ")
	listed, _, _ = strings.Cut(listed, ".\n")
	numbers := regexp.MustCompile(`(\d+)\s+([a-z-]+)`).FindAllStringSubmatch(listed, -1)
	if names := strings.Count(string(invariants), "\n### "); len(numbers) < 20 || len(numbers) != names {
		t.Fatalf("%d invariants have a number, and %d a name", len(numbers), names)
	}
	table := slices.Concat(linkFaults, serverFaults, dataFaults, clientFaults)
	for _, n := range numbers {
		if !strings.Contains(string(invariants), "\n### "+n[2]+"\n") {
			t.Errorf("number %s is %s, which is no invariant", n[1], n[2])
		}
		if testedBy[n[1]] == "" && !slices.ContainsFunc(table, func(f fault) bool { return slices.Contains(strings.Fields(f.rules), n[1]) }) {
			t.Errorf("no fault tests invariant %s, %s", n[1], n[2])
		}
	}
	for _, f := range table {
		if !slices.ContainsFunc(plans(0), func(p plan) bool {
			return slices.ContainsFunc(p.faults, func(o fault) bool { return o.name == f.name })
		}) {
			t.Errorf("%q strikes in no phase", f.name)
		}
	}
	t.Logf("%d kinds of faults, %d invariants", len(table), len(numbers))
}

// A record comes out of the pipe as it went in, also the last before a kill, and a cut one is found.
func TestRecords(t *testing.T) {
	said := []record{
		{At: 1, What: granted, Way: dropped, Place: 300, Call: 70_000, Owner: 9, N: -2, Classes: isOther, Write: true, Token: 1 << 50, Until: never},
		{At: 2, Fixed: true, Text: strings.Repeat("x", 2*mostText)},
	}
	var b []byte
	for i := range said {
		b = said[i].append(b)
	}
	said[1].Text = said[1].Text[:mostText]
	from := bufio.NewReader(bytes.NewReader(b))
	for _, want := range said {
		var got record
		if err := got.read(from); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v, %v; want %+v", got, err, want)
		}
	}
	var r record
	if err := r.read(from); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if err := r.read(bufio.NewReader(bytes.NewReader(b[:len(b)-1-recordBytes-mostText]))); err == nil {
		err = r.read(bufio.NewReader(bytes.NewReader(b[:recordBytes])))
		if err != io.ErrUnexpectedEOF {
			t.Errorf("a cut record: %v", err)
		}
	}
}
