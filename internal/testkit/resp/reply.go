package resp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Reply is one answer of Redis, in RESP2. Its zero value stands for no answer.
type Reply struct {
	Kind  byte    // the type byte: '+', '-', ':', '$' or '*'; 0 when there was no answer
	Nil   bool    // a '$' or '*' without a value
	Text  string  // of '+', '-' and '$'
	Int   int64   // of ':'
	Items []Reply // of '*'

	broken error // why there was no answer
}

// Broken is a Reply that did not come.
func Broken(why error) Reply { return Reply{broken: why} }

// Err tells what went wrong: the connection, or what Redis said in an error answer; nil for any other.
func (r Reply) Err() error {
	if r.broken == nil && r.Kind == '-' {
		return errors.New(r.Text)
	}
	return r.broken
}

// Lost is the error of the connection alone.
func (r Reply) Lost() error { return r.broken }

// Texts gives the texts of a list answer, in order.
func (r Reply) Texts() []string {
	texts := make([]string, 0, len(r.Items))
	for _, item := range r.Items {
		texts = append(texts, item.Text)
	}
	return texts
}

// Fields reads a list answer of names and values in turn.
func (r Reply) Fields() map[string]string {
	fields := make(map[string]string, len(r.Items)/2)
	for i := 0; i+1 < len(r.Items); i += 2 {
		fields[r.Items[i].Text] = r.Items[i+1].Text
	}
	return fields
}

// String shows the answer for a test's message.
func (r Reply) String() string {
	switch {
	case r.broken != nil:
		return "(no answer: " + r.broken.Error() + ")"
	case r.Nil:
		return "(nil)"
	case r.Kind == ':':
		return strconv.FormatInt(r.Int, 10)
	case r.Kind == '*':
		return fmt.Sprint(r.Items)
	default:
		return strconv.Quote(r.Text)
	}
}

// Read reads one answer from a server that is trusted to send sound ones.
func Read(from *bufio.Reader) Reply {
	line, err := from.ReadSlice('\n')
	if err != nil {
		return Broken(err)
	}
	if len(line) < 3 {
		return Broken(fmt.Errorf("not an answer of Redis: %q", line))
	}
	r, rest := Reply{Kind: line[0]}, string(line[1:len(line)-2])
	if r.Kind == '+' || r.Kind == '-' {
		r.Text = rest
		return r
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return Broken(fmt.Errorf("not an answer of Redis: %q", line))
	}
	switch r.Kind {
	case ':':
		r.Int = n
	case '$':
		if r.Nil = n < 0; r.Nil {
			break
		}
		text := make([]byte, n+2) // with its CRLF
		if _, err := io.ReadFull(from, text); err != nil {
			return Broken(err)
		}
		r.Text = string(text[:n])
	case '*':
		r.Nil = n < 0
		for range n {
			item := Read(from)
			if item.broken != nil {
				return item
			}
			r.Items = append(r.Items, item)
		}
	default:
		return Broken(fmt.Errorf("an answer of unknown type %q", r.Kind))
	}
	return r
}
