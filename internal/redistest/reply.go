package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
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

// Err tells what went wrong: the connection, or what Redis said in an error answer; nil for any other.
func (r Reply) Err() error {
	if r.broken != nil {
		return r.broken
	}
	if r.Kind == '-' {
		return errors.New(r.Text)
	}
	return nil
}

// Texts gives the texts of a list answer, in order.
func (r Reply) Texts() []string {
	texts := make([]string, 0, len(r.Items))
	for _, item := range r.Items {
		texts = append(texts, item.Text)
	}
	return texts
}

// fields reads a list answer of names and values in turn.
func (r Reply) fields() map[string]string {
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

// readReply reads one RESP2 answer from a server that is trusted to send sound ones.
func readReply(from *bufio.Reader) (Reply, error) {
	line, err := from.ReadString('\n')
	if err != nil {
		return Reply{}, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return Reply{}, errors.New("redistest: empty line in place of an answer")
	}
	reply, rest := Reply{Kind: line[0]}, line[1:]
	switch reply.Kind {
	case '+', '-':
		reply.Text = rest
		return reply, nil
	case ':', '$', '*':
	default:
		return Reply{}, fmt.Errorf("redistest: answer of unknown type %q", line)
	}
	if reply.Int, err = strconv.ParseInt(rest, 10, 64); err != nil || reply.Kind == ':' {
		return reply, err
	}
	size := reply.Int
	reply.Int, reply.Nil = 0, size < 0
	if reply.Kind == '$' && !reply.Nil {
		text := make([]byte, size+2) // with its CRLF
		_, err = io.ReadFull(from, text)
		reply.Text = string(text[:size])
	}
	for i := int64(0); reply.Kind == '*' && i < size && err == nil; i++ {
		var item Reply
		item, err = readReply(from)
		reply.Items = append(reply.Items, item)
	}
	return reply, err
}
