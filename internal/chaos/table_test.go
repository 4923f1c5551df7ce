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

// elsewhere are rules that no fault of one server exercises: who tests them instead.
var testedBy = map[string]string{"25": "replicas", "26": "cluster"}

// Every rule of ARCHITECTURE.md is put to the test by some fault of the table, and every fault is in some phase.
func TestTableOfFaults(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rules, found := strings.Cut(string(text), "## The rules that keep it a lock")
	rules, _, _ = strings.Cut(rules, "\n## ")
	numbers := regexp.MustCompile(`(?m)^(\d+)\. `).FindAllStringSubmatch(rules, -1)
	if !found || len(numbers) < 20 {
		t.Fatalf("found %d rules", len(numbers))
	}
	table := slices.Concat(linkFaults, serverFaults, dataFaults, clientFaults)
	for _, n := range numbers {
		if testedBy[n[1]] == "" && !slices.ContainsFunc(table, func(f fault) bool { return slices.Contains(strings.Fields(f.rules), n[1]) }) {
			t.Errorf("no fault exercises rule %s", n[1])
		}
	}
	for _, f := range table {
		if !slices.ContainsFunc(plans(0), func(p plan) bool {
			return slices.ContainsFunc(p.faults, func(o fault) bool { return o.name == f.name })
		}) {
			t.Errorf("%q strikes in no phase", f.name)
		}
	}
	t.Logf("%d kinds of faults, %d rules", len(table), len(numbers))
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
