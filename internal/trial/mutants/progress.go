package main

import (
	"fmt"
	"io"
	"time"
)

// progress tells now and then how far a run is.
type progress struct {
	out              io.Writer
	began, said      time.Time
	all, did, killed int
}

const seldom = 10 * time.Second

func newProgress(out io.Writer) *progress { return &progress{out: out} }

// say tells what is being done, but not too often.
func (p *progress) say(format string, args ...any) {
	if time.Since(p.said) < seldom {
		return
	}
	p.said = time.Now()
	fmt.Fprintf(p.out, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

func (p *progress) begin(n int) { p.all, p.began = n, time.Now() }

// done counts a mutant. A survivor is named at once.
func (p *progress) done(m *Mutant, r Result) {
	p.did++
	if r.Killed {
		p.killed++
	} else {
		fmt.Fprintf(p.out, "survived (%.0f s): %v\n", r.Seconds, m)
	}
	left := time.Duration(float64(time.Since(p.began)) / float64(p.did) * float64(p.all-p.did))
	p.say("%d of %d mutants, %d killed, %v left", p.did, p.all, p.killed, left.Round(time.Second))
}
