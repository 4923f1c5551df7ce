package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"
)

// Result is what became of a mutant.
type Result struct {
	Where   string  `json:"where"` // file and line, as they were
	From    string  `json:"from"`
	To      string  `json:"to"`
	Killed  bool    `json:"killed"`
	By      string  `json:"by,omitempty"`  // the killer
	Explore bool    `json:"explorer"`      // it is the explorer
	Why     string  `json:"why,omitempty"` // what it said
	Seconds float64 `json:"seconds"`
}

// Results are those of all runs so far, by the keys of mutants, in a file that a later run goes on with.
type Results struct {
	path  string
	all   map[string]Result
	saved time.Time
}

func loadResults(path string) (*Results, error) {
	r := &Results{path: path, all: make(map[string]Result)}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	return r, json.Unmarshal(text, &r.all)
}

func (r *Results) of(m *Mutant) (Result, bool) {
	result, ok := r.all[m.Key()]
	return result, ok
}

// add keeps a result; every few seconds the file is written.
func (r *Results) add(m *Mutant, result Result) error {
	r.all[m.Key()] = result
	if time.Since(r.saved) < 5*time.Second {
		return nil
	}
	return r.save()
}

func (r *Results) save() error {
	text, err := json.MarshalIndent(r.all, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.path+".new", text, 0o644); err != nil {
		return err
	}
	r.saved = time.Now()
	return os.Rename(r.path+".new", r.path)
}
