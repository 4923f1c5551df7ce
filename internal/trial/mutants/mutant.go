package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Mutant is a copy of the code with one change.
type Mutant struct {
	Group    string // script or package, as the table has it
	Operator string // what kind of mistake it is, as the table has it
	File     string // from the root of the module
	Line     int
	From, To string // the lines of the change, before and after, without comments and with single spaces
	Nth      int    // how many mutants before it have the same File, From and To
	edits    []edit // of File
	number   int    // of Go: by which a test binary is told
}

// edit replaces the bytes of a text from one place to another.
type edit struct {
	from, to int
	text     string
}

// Key tells a mutant from all others, also after lines were added above it.
func (m *Mutant) Key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", m.File, m.From, m.To, m.Nth))
	return hex.EncodeToString(sum[:8])
}

func (m *Mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s\n\t-> %s", m.File, m.Line, m.Operator, cut(m.From), cut(m.To))
}

// cut keeps a line readable.
func cut(text string) string {
	const most = 220
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// apply makes edits, which must not overlap. Those at one place are made in their order.
func apply(text string, edits []edit) string {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return min(a.to-a.from, 1) - min(b.to-b.from, 1) // what is put in comes before what is replaced
	})
	var out strings.Builder
	at := 0
	for _, e := range edits {
		out.WriteString(text[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.WriteString(text[at:])
	return out.String()
}

var (
	comments = map[string]*regexp.Regexp{".lua": regexp.MustCompile(`(?m)--.*$`), ".go": regexp.MustCompile(`(?m)//.*$`)}
	spaces   = regexp.MustCompile(`\s+`)
)

// bare is text of the file without comments, on one line.
func (m *Mutant) bare(text string) string {
	text = comments[filepath.Ext(m.File)].ReplaceAllString(text, "")
	return strings.TrimSpace(spaces.ReplaceAllString(text, " "))
}

// describe fills in Line, From and To: the whole lines that a change touches.
func (m *Mutant) describe(text string, change edit) {
	from := strings.LastIndexByte(text[:change.from], '\n') + 1
	to := change.to
	if end := strings.IndexByte(text[to:], '\n'); end >= 0 {
		to += end
	} else {
		to = len(text)
	}
	m.Line = 1 + strings.Count(text[:change.from], "\n")
	m.From = m.bare(text[from:to])
	m.To = m.bare(text[from:change.from] + change.text + text[change.to:to])
}

// numbered tells mutants apart that look alike.
func numbered(all []*Mutant) []*Mutant {
	seen := make(map[string]int)
	for _, m := range all {
		m.Nth = 0
		key := m.Key()
		m.Nth = seen[key]
		seen[key]++
	}
	return all
}

// shard is the ith of n parts; "1/1" is all. A mutant's key tells its part, so that it stays in it when others come and go.
func shard(all []*Mutant, which string) ([]*Mutant, error) {
	before, behind, _ := strings.Cut(which, "/")
	i, errI := strconv.ParseUint(before, 10, 32)
	n, errN := strconv.ParseUint(behind, 10, 32)
	if errI != nil || errN != nil || i < 1 || i > n {
		return nil, fmt.Errorf("shard %q is not i/n with 1 <= i <= n", which)
	}
	return slices.DeleteFunc(slices.Clone(all), func(m *Mutant) bool {
		key, err := strconv.ParseUint(m.Key(), 16, 64)
		return err != nil || key%n != i-1
	}), nil
}
