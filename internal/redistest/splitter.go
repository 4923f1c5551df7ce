package redistest

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

const (
	// keptArgs leading elements of a frame are kept, keptBytes of each: enough for EVALSHA, its digest,
	// the number of keys and the first key.
	keptArgs  = 4
	keptBytes = 64
	// maxLength is the most a header may announce; Redis's own limits are 512 MB and 2^31-1 elements.
	maxLength = 1 << 31
	// maxPending bounds what nested headers may announce together.
	maxPending = 1 << 40
)

// valueTypes are the bytes a value can begin with: plain ones, strings with a length, lists.
const valueTypes = "+-:_,#(" + "$=!" + "*~>%|"

// errNotRESP says that bytes are no RESP, or none that we can follow.
var errNotRESP = errors.New("redistest: not RESP")

// splitter finds where frames of RESP2 or RESP3 begin and end in a stream that is cut anywhere. It looks
// at bytes and keeps next to none, so its memory does not depend on what it is fed.
type splitter struct {
	inline bool // set for requests: a frame may be a plain line, as typed into a terminal

	// Of the present frame, or the one just completed.
	kind     byte     // its first byte
	args     []string // its leading elements, if they are plain
	elements int64    // how many its header announced; -1 for a null list

	open    bool  // the frame has begun and not ended
	first   bool  // its first header has not been read yet
	pending int64 // values of it still to come
	nested  bool  // an inner list has begun; nothing after it is kept
	header  bool  // within a line; the next byte is not the first of a value
	of      byte  // type of the value being read
	body    int64 // bytes of a string still to come, with its CRLF
	last    byte  // last byte of the line so far, to tell a CR before the LF
	kept    []byte
}

// feed reads p up to the end of the present frame or of p, and returns how much that was and whether the
// frame is complete. After an error the splitter is of no more use.
func (s *splitter) feed(p []byte) (n int, complete bool, err error) {
	for n < len(p) {
		switch {
		case !s.open:
			s.begin(p[n])
		case s.body > 0:
			n += s.readBody(p[n:])
		case s.header:
			var read int
			read, err = s.readLine(p[n:])
			n += read
		case strings.IndexByte(valueTypes, p[n]) < 0:
			return n, false, errNotRESP
		default:
			s.of, s.header, s.last, s.kept = p[n], true, 0, s.kept[:0]
			n++
		}
		if err != nil {
			return n, false, err
		}
		if s.pending == 0 {
			s.open = false
			return n, true, nil
		}
	}
	return n, false, nil
}

// begin opens a frame; its first byte is read afterwards.
func (s *splitter) begin(first byte) {
	s.kind, s.args, s.elements = first, nil, 0
	s.open, s.first, s.pending, s.nested = true, true, 1, false
	if s.inline && first != '*' {
		s.of, s.header, s.last, s.kept = 0, true, 0, s.kept[:0]
	}
}

// readBody passes over the rest of a string, keeping its beginning.
func (s *splitter) readBody(p []byte) int {
	n := int(min(s.body, int64(len(p))))
	if text := min(int64(n), s.body-2); text > 0 { // the last two are CRLF
		s.keep(p[:text])
	}
	if s.body -= int64(n); s.body == 0 {
		s.endValue()
	}
	return n
}

// readLine passes over the rest of a line, keeping its beginning.
func (s *splitter) readLine(p []byte) (int, error) {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		s.keep(p)
		s.last = p[len(p)-1]
		return len(p), nil
	}
	s.keep(p[:end])
	if end > 0 {
		s.last = p[end-1]
	}
	s.header = false
	if s.last != '\r' && s.of != 0 {
		return end + 1, errNotRESP
	}
	s.kept = bytes.TrimSuffix(s.kept, []byte("\r"))
	return end + 1, s.endLine()
}

func (s *splitter) keep(p []byte) {
	s.kept = append(s.kept, p[:min(len(p), keptBytes-len(s.kept))]...)
}

// endLine acts on a complete line: a value by itself, or the announcement of what follows.
func (s *splitter) endLine() error {
	switch s.of {
	case 0:
		s.args, s.pending = strings.Fields(string(s.kept)), 0
		s.elements, s.args = int64(len(s.args)), s.args[:min(len(s.args), keptArgs)]
		return nil
	case '+', '-', ':', '_', ',', '#', '(':
		s.endValue()
		return nil
	}
	length, err := strconv.ParseInt(string(s.kept), 10, 64)
	if err != nil || length < -1 || length > maxLength || len(s.kept) == keptBytes {
		return errNotRESP
	}
	s.kept = s.kept[:0]
	switch s.of {
	case '$', '=', '!':
		if length < 0 {
			s.endValue()
		} else {
			s.body = length + 2
		}
		return nil
	default:
		return s.beginList(length)
	}
}

// beginList counts the values a list brings. It needs no stack: a frame is complete when as many values
// have come as were announced, whichever list they belong to.
func (s *splitter) beginList(length int64) error {
	if s.first {
		s.first, s.elements = false, length
	} else {
		s.nested = true
	}
	length = max(length, 0) // a null list brings none
	switch s.of {
	case '%':
		s.pending += 2*length - 1
	case '|': // attributes come before the value they describe and are not it
		s.pending += 2 * length
	default:
		s.pending += length - 1
	}
	if s.pending > maxPending {
		return errNotRESP
	}
	return nil
}

// endValue counts a plain value, and keeps it if it is among the first.
func (s *splitter) endValue() {
	s.pending--
	if !s.nested && len(s.args) < keptArgs {
		s.args = append(s.args, string(s.kept))
	}
}
