package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/wheellock/wheellock/cmd/internal/output"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/page"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
)

// series runs the load as often as is asked for, tells how it went, and writes the files. A run that is not as it should be is the
// last. An error means that there is nothing to tell.
func (s *session) series() (runs []*report.Result, err error) {
	s.out = s.stdout
	if s.settings.json == "-" {
		s.out = s.stderr
	}
	s.width, _ = output.Size(s.out)
	files, err := s.openFiles()
	if err != nil {
		return nil, err
	}
	for s.round = range s.settings.repeat {
		result, err := s.measure()
		if err != nil {
			return nil, errors.Join(err, files.close())
		}
		runs = append(runs, result)
		fmt.Fprintln(s.out)
		if s.settings.repeat == 1 {
			result.Table(s.out, s.width)
		} else {
			result.Short(s.out, s.round+1, s.width)
		}
		if !result.OK || result.EndedEarly {
			break
		}
	}
	if len(runs) > 1 {
		fmt.Fprintln(s.out)
		report.SpreadTable(s.out, runs)
	}
	return runs, errors.Join(files.write(runs), files.close())
}

// verdict is the exit code of runs. It says which --fail they do not pass. The order is that of gravity: a broken promise is reported
// also if another run failed, and a --fail is judged only of runs that are all as they should be. A rate that grows is to find out up to where
// it is reached, so a step that was saturated is no failure.
func (s *session) verdict(runs []*report.Result) (exit int) {
	switch {
	case slices.ContainsFunc(runs, (*report.Result).Broken):
		return exitBroken
	case slices.ContainsFunc(runs, func(r *report.Result) bool { return !r.OK }):
		return exitFailed
	}
	for _, t := range s.settings.fail {
		if why := t.Exceeded(runs); why != "" {
			fmt.Fprintln(s.out, "\n"+report.Wrap("", why, s.width))
			exit = exitThreshold
		}
	}
	if exit == exitOK && s.settings.plan.FromRate == 0 && slices.ContainsFunc(runs, (*report.Result).Saturated) {
		return exitSaturated
	}
	return exit
}

// files are what is written besides the table. They are opened before anything is started: a run should not end with "no such
// directory".
type files struct {
	json, html io.WriteCloser // nil: not asked for
}

func (s *session) openFiles() (f files, err error) {
	if s.settings.json == "-" {
		f.json = staysOpen{s.stdout}
	} else if f.json, err = create(s.settings.json); err != nil {
		return f, err
	}
	if f.html, err = create(s.settings.html); err != nil {
		return f, errors.Join(err, f.close())
	}
	return f, nil
}

// create creates a file; none has no name.
func create(name string) (io.WriteCloser, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (f *files) write(runs []*report.Result) (err error) {
	if f.json != nil {
		err = report.WriteJSON(f.json, runs)
	}
	if f.html != nil {
		err = errors.Join(err, page.Write(f.html, runs))
	}
	return err
}

func (f *files) close() (err error) {
	for _, file := range []io.WriteCloser{f.json, f.html} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}

// staysOpen is a writer that is not ours to close.
type staysOpen struct{ io.Writer }

func (staysOpen) Close() error { return nil }
