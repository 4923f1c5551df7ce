package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// options are those of the command line.
type options struct {
	root, only, group, shard, results string
	walks                             int
	again, list                       bool
	most                              time.Duration
}

const usage = `Mutants makes small mistakes in the scripts and the engine, one at a time, and runs the tests and the explorer: each mistake
that nobody notices is a hole in the tests, or changes nothing. Mistakes that change nothing stand in explained.txt, with the reason.

	make mutants                               # all scripts, then the packages of the engine
	make mutants ONLY=lua PACKAGE=acquire.lua  # one script
	make mutants ONLY=go PACKAGE=wheel         # one package
	make mutants SHARD=1/4                     # a quarter of the mutants, by chance, but the same ones each time

What became of each mutant is kept in the file of -results, and a later run goes on from there. Of mutants that survived it tries
again only with -again, as after new tests. It ends with 1 when fewer are killed than the target says (95 % of the scripts' mutants,
90 % of those of Go), or when a survivor is not explained.

`

func main() {
	var o options
	flag.StringVar(&o.root, "root", "../../..", "the folder of the module")
	flag.StringVar(&o.only, "only", "", "lua or go; empty: both")
	flag.StringVar(&o.group, "package", "", "only the mutants of these scripts, as acquire.lua,line.lua, packages, as wheel,dispatcher/gate, or of one file, as dispatcher/gate/gift.go")
	flag.StringVar(&o.shard, "shard", "1/1", "i/n: one part of n; a mutant stays in its part when the code around it changes")
	flag.StringVar(&o.results, "results", "mutants.json", "the file that keeps what became of each mutant")
	flag.IntVar(&o.walks, "walks", 4000, "how many random walks of the explorer a mutant must survive")
	flag.BoolVar(&o.again, "again", false, "try those again that survived")
	flag.DurationVar(&o.most, "most", time.Minute, "leave out tests that take longer than this; what survives may be tried with them later, with -again")
	flag.BoolVar(&o.list, "list", false, "only list the mutants")
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 || o.only != "" && o.only != "lua" && o.only != "go" {
		flag.Usage()
		os.Exit(2)
	}
	good, err := o.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if !good {
		os.Exit(1)
	}
}

// run tries the mutants that were asked for. It answers whether the target is met.
func (o *options) run() (good bool, err error) {
	if o.root, err = filepath.Abs(o.root); err != nil {
		return false, err
	}
	explained, err := readExplained(explainedText)
	if err != nil {
		return false, err
	}
	results, err := loadResults(o.results)
	if err != nil {
		return false, err
	}
	good = true
	for _, of := range []struct {
		name string
		plan planner
	}{{"lua", planLua}, {"go", planGo}} {
		if o.only != "" && o.only != of.name {
			continue
		}
		met, err := o.try(of.plan, results, explained)
		if err != nil {
			return false, err
		}
		good = good && met
	}
	return good, nil
}

// planner makes a plan, in a folder to work in, and says what it is at.
type planner func(o *options, work string, say func(string, ...any)) (*plan, error)

// try makes a plan and carries it out.
func (o *options) try(planned planner, results *Results, explained Explained) (bool, error) {
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	progress := newProgress(os.Stderr)
	p, err := planned(o, work, progress.say)
	if err != nil {
		return false, err
	}
	stale := explained.without(p.all, o.group == "")
	if p.all, err = shard(p.all, o.shard); err != nil {
		return false, err
	}
	if o.list {
		for _, m := range p.all {
			fmt.Println(m)
		}
		return true, nil
	}
	began := time.Now()
	if err := p.run(o, work, results, explained, progress); err != nil {
		return false, err
	}
	for _, e := range stale {
		fmt.Printf("explained.txt: %s has no such mutant:\n- %s\n+ %s\n", e.file, e.from, e.to)
	}
	return p.report(os.Stdout, results, explained, time.Since(began)) && stale == nil, nil
}
