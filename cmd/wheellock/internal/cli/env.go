package cli

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redisflags"
)

// Env is what a command runs in: the streams and the flags that all commands have.
type Env struct {
	Name   string // of the program and the command, before what is said on Stderr
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	JSON   bool // one JSON value for each thing that is told
	Redis  redisflags.Flags
	After  []string // what stands after "--"
	Dashes bool     // there is a "--"
}

// URLVariable is the environment's name for --redis.
const URLVariable = "WHEELLOCK_REDIS"

// Define declares the flags that all commands have. What was read before stays.
func (e *Env) Define(flags *flag.FlagSet) {
	before := *e
	url := os.Getenv(URLVariable)
	if url == "" {
		url = "redis://127.0.0.1:6379"
	}
	flags.StringVar(&e.Redis.URL, "redis", url, "`URL` of the Redis")
	flags.BoolVar(&e.JSON, "json", false, "tell everything in JSON, a value in each line")
	e.Redis.Define(flags)
	if before.Redis.URL != "" {
		*e = before
	}
}

// Options are the options for an engine that the flags ask for. Its errors are ExitUsage.
func (e *Env) Options() (engine.Options, error) {
	o, err := e.Redis.Options()
	if err != nil {
		return o, &usageError{err}
	}
	return o, nil
}

// usageError is an error of the command line.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// Usage complains of the command line.
func (e *Env) Usage(format string, args ...any) (exit int) {
	return e.Fail(&usageError{fmt.Errorf(format+"; "+e.Name+" -h explains it", args...)})
}

// Fail tells an error on Stderr, and returns the exit code for it.
func (e *Env) Fail(err error) (exit int) {
	exit = CodeOf(err)
	text := strings.TrimPrefix(err.Error(), "wheellock: ")
	if e.JSON {
		e.encode(e.Stderr, struct {
			Error string `json:"error"`
			Exit  int    `json:"exit"`
		}{text, exit})
	} else {
		fmt.Fprintf(e.Stderr, "%s: %s\n", e.Name, text)
	}
	return exit
}

// CodeOf is the exit code for an error.
func CodeOf(err error) int {
	switch _, usage := errors.AsType[*usageError](err); {
	case usage, errors.Is(err, engine.ErrInvalid):
		return ExitUsage
	case errors.Is(err, engine.ErrHeld):
		return ExitHeld
	case errors.Is(err, engine.ErrUnavailable):
		return ExitUnavailable
	case errors.Is(err, engine.ErrLost):
		return ExitLost
	}
	return ExitFailed
}

// Value writes v to Stdout as one line of JSON.
func (e *Env) Value(v any) { e.encode(e.Stdout, v) }

func (e *Env) encode(w io.Writer, v any) {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // whoever read it has gone
}

// Width is how many columns Stdout has; 0: it is no terminal.
func (e *Env) Width() int {
	f, isFile := e.Stdout.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}
