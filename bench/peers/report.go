package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// report is everything there is to say about one run of this program; results.json is its JSON.
type report struct {
	Environment environment `json:"environment"`
	Command     string      `json:"command"`
	Rounds      int         `json:"rounds"`
	Seconds     float64     `json:"seconds_per_turn"`
	Base        string      `json:"base_of_ratios"`
	Summaries   []Summary   `json:"summaries"`
	Results     []Result    `json:"results"`

	works   []work
	entries []entry
}

func newReport(opts options, servers []*server, results []Result) *report {
	r := &report{
		Environment: newEnvironment(servers, time.Now()),
		Command:     commandLine(),
		Rounds:      opts.rounds,
		Seconds:     opts.length.Seconds(),
		Base:        opts.base,
		Summaries:   summarize(results, opts.base),
		Results:     results,
		works:       opts.works,
		entries:     opts.entries,
	}
	if len(servers) > 1 {
		r.Base = servers[0].name
	}
	return r
}

// commandLine is how this program was started.
func commandLine() string {
	command := strings.Join(append([]string{"peers"}, os.Args[1:]...), " ")
	if home, err := os.UserHomeDir(); err == nil {
		command = strings.ReplaceAll(command, home, "~")
	}
	return command
}

// voided counts the turns that gave no figure.
func (r *report) voided() (n int) {
	for _, one := range r.Results {
		if one.Void != "" {
			n++
		}
	}
	return n
}

// write puts the tables on the screen, and with the JSON and the pictures into the folder.
func (r *report) write(screen io.Writer, folder string) error {
	pictures := drawPictures(r.entries, r.Summaries)
	return save(screen, folder, r.markdown(pictures), pictures, r)
}

// save puts tables on the screen, and with the pictures and a result as JSON into a folder.
func save(screen io.Writer, folder, tables string, pictures []drawn, result any) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, one := range append(pictures, drawn{file: "results.md", text: tables}) {
		if err := os.WriteFile(filepath.Join(folder, one.file), []byte(one.text), 0o644); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(screen, tables); err != nil {
		return err
	}
	return figures.SaveJSON(filepath.Join(folder, "results.json"), result)
}
