package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// File is what --json writes of several runs of one load. Of one run it writes the Result alone.
type File struct {
	Format int       `json:"format"`
	Runs   []*Result `json:"runs"`
}

// WriteJSON writes runs as --json does.
func WriteJSON(w io.Writer, runs []*Result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if len(runs) == 1 {
		return e.Encode(runs[0])
	}
	return e.Encode(File{Format, runs})
}

// ReadJSON reads what --json wrote, of one run or of several: there is at least one. Both forms have the format on top, which is checked
// first. A text without "runs" is read as the Result of one.
func ReadJSON(path string) ([]*Result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file File
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s is not what loadgen --json writes: %w", path, err)
	}
	if file.Format != Format {
		return nil, fmt.Errorf("%s is not what loadgen --json writes: want format %d, got %d", path, Format, file.Format)
	}
	if len(file.Runs) == 0 {
		file.Runs = []*Result{{}}
		if err := json.Unmarshal(text, file.Runs[0]); err != nil {
			return nil, fmt.Errorf("%s is not what loadgen --json writes: %w", path, err)
		}
	}
	return file.Runs, nil
}
