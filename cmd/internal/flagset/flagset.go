// Package flagset reads flags as package flag does, and complains in words of its own.
package flagset

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// badValue is the complaint of package flag about a value that it cannot read.
var badValue = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-(\S+): (?:parse error|value out of range)$`)

// Parse reads the flags up to the first other word, and prints nothing. The error is one line that says what would be right, or
// flag.ErrHelp.
func Parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	err := flags.Parse(args)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	text := err.Error()
	if bad := badValue.FindStringSubmatch(text); bad != nil {
		return fmt.Errorf("invalid value %s for --%s: %s", bad[1], bad[2], wanted(flags.Lookup(bad[2]), bad[1]))
	}
	if name, is := strings.CutPrefix(text, "flag provided but not defined: -"); is {
		var all []string
		flags.VisitAll(func(f *flag.Flag) { all = append(all, "--"+f.Name) })
		return errors.New("there is no flag --" + name + Suggest("--"+name, all))
	}
	text = strings.Replace(text, "flag needs an argument: -", "a value is missing after --", 1)
	return errors.New(strings.Replace(text, "for flag -", "for --", 1))
}

// Words reads the flags wherever they stand, as Parse does, and returns the other words.
func Words(flags *flag.FlagSet, args []string) (words []string, err error) {
	for {
		if err := Parse(flags, args); err != nil {
			return nil, err
		}
		if args = flags.Args(); len(args) == 0 {
			return words, nil
		}
		words, args = append(words, args[0]), args[1:]
	}
}

// wanted is what would be right in place of a value, in quotes.
func wanted(f *flag.Flag, value string) string {
	switch f.Value.(flag.Getter).Get().(type) { // those of package flag itself are, and others say what they want
	case bool:
		return "want true or false"
	case time.Duration:
		plain := strings.Trim(value, `"`)
		if _, err := time.ParseDuration(plain + "s"); err == nil {
			return fmt.Sprintf("a time needs a unit; did you mean %ss?", plain)
		}
		return "want a time with its unit, such as 500ms or 1m30s"
	}
	return "want a whole number"
}
