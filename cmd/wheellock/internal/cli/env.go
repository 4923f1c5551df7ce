package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/wheellock/wheellock/cmd/internal/output"
	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/engine"
)

// Env is what a command runs in: the streams and the flags that all commands have.
type Env struct {
	Name   string // of the program and the command, before what is said on Stderr
	Stdin  io.Reader
	Stdout io.Writer // of a command that runs, an *output.Stream
	Stderr io.Writer
	JSON   bool // one JSON value for each thing that is told
	Redis  redisflags.Flags
	After  []string // what stands after "--"
	Dashes bool     // there is a "--"

	ctx     context.Context // of the command
	defined bool            // Define was called
}

// Define declares the flags that all commands have. What was read before stays.
func (e *Env) Define(flags *flag.FlagSet) {
	before := *e
	url := os.Getenv(redisflags.URLVariable)
	if url == "" {
		url = "redis://127.0.0.1:6379"
	}
	flags.StringVar(&e.Redis.URL, "redis", url, "`URL` of the Redis; the usual one is that of "+redisflags.URLVariable+", or redis://127.0.0.1:6379")
	flags.BoolVar(&e.JSON, "json", false, "tell everything in JSON, a value in each line")
	e.Redis.Define(flags)
	if before.defined {
		*e = before
	}
	e.defined = true
}

// Options are the options for an engine that the flags ask for. Its errors are ExitUsage, but for the end of ctx: a file that a flag names
// may be a pipe into which nobody writes.
func (e *Env) Options(ctx context.Context) (engine.Options, error) {
	var o engine.Options
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		o, err = e.Redis.Options()
	}()
	select {
	case <-read:
	case <-ctx.Done():
		return engine.Options{}, context.Cause(ctx)
	}
	if err != nil {
		return o, &usageError{err}
	}
	return o, nil
}

// Open opens an engine. It hears of locks that are freed by force as soon as the server lets it.
func (e *Env) Open(ctx context.Context, change func(*engine.Options)) (*engine.Engine, error) {
	o, err := e.Options(ctx)
	if err != nil {
		return nil, err
	}
	change(&o)
	o.WatchLoss = !o.Redis.AlwaysRESP2
	opened, err := engine.Open(ctx, o)
	if o.WatchLoss && errors.Is(err, engine.ErrRefused) && ctx.Err() == nil { // WatchLoss needs a right that nothing else needs, and RESP3
		o.WatchLoss = false
		opened, err = engine.Open(ctx, o)
	}
	return opened, err
}

// usageError is an error of the command line.
type usageError struct{ error }

func (u *usageError) Unwrap() error { return u.error }
func (u *usageError) ExitCode() int { return ExitUsage }

// Usage complains of the command line.
func (e *Env) Usage(format string, args ...any) (exit int) {
	return e.Fail(&usageError{fmt.Errorf(format+"; "+e.Name+" -h explains it", args...)})
}

// Fail tells an error on Stderr, and returns the exit code for it.
func (e *Env) Fail(err error) (exit int) {
	if own := coded(nil); !errors.As(err, &own) && e.ctx != nil && errors.Is(err, context.Canceled) {
		err = cmp.Or(context.Cause(e.ctx), err) // which signal it was
	}
	exit = CodeOf(err)
	text := Printable(redisflags.Explain(err)) // a server may have said it
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

// coded is an error with an exit code of its own.
type coded interface {
	error
	ExitCode() int
}

// CodeOf is the exit code for an error.
func CodeOf(err error) int {
	if own := coded(nil); errors.As(err, &own) {
		return own.ExitCode()
	}
	switch {
	case errors.Is(err, engine.ErrInvalid):
		return ExitUsage
	case errors.Is(err, engine.ErrHeld):
		return ExitHeld
	case errors.Is(err, engine.ErrUnavailable):
		return ExitUnavailable
	case errors.Is(err, engine.ErrLost):
		return ExitLost
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return ExitNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.EISDIR):
		return ExitCannotRun
	}
	return ExitFailed
}

// Note tells something on Stderr that is no error.
func (e *Env) Note(format string, args ...any) {
	text := Printable(strings.TrimSpace(fmt.Sprintf(format, args...)))
	if e.JSON {
		e.Event(map[string]any{"event": "note", "text": text})
		return
	}
	fmt.Fprintf(e.Stderr, "%s: %s\n", e.Name, text)
}

// Printable is a text with escapes in place of what a terminal would do and not show, but for the ends of lines.
func Printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// Event writes v to Stderr as one line of JSON, if JSON is wanted: for commands that do not own Stdout.
func (e *Env) Event(v any) {
	if e.JSON {
		e.encode(e.Stderr, v)
	}
}

// Value writes v to Stdout as one line of JSON.
func (e *Env) Value(v any) { e.encode(e.Stdout, v) }

func (e *Env) encode(w io.Writer, v any) {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // its reader has gone
}

// Named is the name of a lock in what --json tells. JSON is text: encoding/json writes U+FFFD for bytes that are no UTF-8.
type Named struct {
	Name  string `json:"name"`
	Bytes []byte `json:"name_base64,omitempty"` // the name, if it is no UTF-8
}

// NamedBy returns the Named of a name.
func NamedBy(name string) Named {
	if utf8.ValidString(name) {
		return Named{Name: name}
	}
	return Named{name, []byte(name)}
}

// Unwritten is why not all was written to Stdout; nil: all was. What writes until it is ended ends then.
func (e *Env) Unwritten() error {
	if out, is := e.Stdout.(*output.Stream); is {
		return out.Err()
	}
	return nil
}

// Size is how many columns and lines Stdout has; 0 columns: not a terminal.
func (e *Env) Size() (columns, lines int) { return output.Size(e.Stdout) }
