// Package output is the standard output of a program: how wide it is, and whether all of it was written.
package output

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Stream keeps the first error of writing to it: a list that ends early must not look complete.
type Stream struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (s *Stream) Write(p []byte) (n int, err error) {
	n, err = s.Writer.Write(p)
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// Err returns why not all was written; nil: all was.
func (s *Stream) Err() error {
	if s.err == nil {
		return nil
	}
	return fmt.Errorf("the output is not complete: %w", s.err)
}

// Size is how many columns and lines w has, or the file behind a Stream; 0 columns: not a terminal.
func Size(w io.Writer) (columns, lines int) {
	if s, is := w.(*Stream); is {
		w = s.Writer
	}
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, 0
	}
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 || lines <= 0 {
		return 80, 24
	}
	return columns, lines
}
