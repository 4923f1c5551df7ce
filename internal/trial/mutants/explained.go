package main

import (
	_ "embed"
	"fmt"
	"strings"
)

// explained.txt lists the mutants that change nothing that a caller or another process could see. An entry is four lines: the
// file, the line before the change and after it, and the reason. It is found by these texts, not by the number of the line.
//
//	dispatcher/gate/hold.go
//	- if a < b {
//	+ if a <= b {
//	= a and b are never equal here
//
//go:embed explained.txt
var explainedText string

type explanation struct{ file, from, to string }

// Explained are the reasons by what they explain.
type Explained map[explanation]string

func readExplained(text string) (Explained, error) {
	all := make(Explained)
	var e explanation
	for i, line := range strings.Split(text, "\n") {
		mark, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || mark == "#":
		case mark == "-":
			e.from = rest
		case mark == "+":
			e.to = rest
		case mark == "=":
			if e.file == "" || e.from == "" || rest == "" {
				return nil, fmt.Errorf("explained.txt:%d: a reason without a file, a line or words", i+1)
			}
			all[e] = rest
			e.from, e.to = "", ""
		default:
			e = explanation{file: line}
		}
	}
	return all, nil
}

func (e Explained) reason(m *Mutant) string { return e[explanation{m.File, m.From, m.To}] }

// without are the reasons in the files of some mutants that are of none of them: their lines are not there any more. Of a part of the mutants
// nothing can be said.
func (e Explained) without(all []*Mutant, whole bool) (stale []explanation) {
	files, there := make(map[string]bool), make(map[explanation]bool)
	for _, m := range all {
		files[m.File], there[explanation{m.File, m.From, m.To}] = true, true
	}
	for one := range e {
		if whole && files[one.file] && !there[one] {
			stale = append(stale, one)
		}
	}
	return stale
}
