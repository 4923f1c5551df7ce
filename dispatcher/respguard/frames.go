package respguard

import "bytes"

// What a server may say at once. The client reserves memory for a string or a list as soon as its length is announced,
// and reads lists in lists by recursion.
const (
	maxText   = 1 << 20  // bytes of one string; ours have some dozens, INFO has some thousands
	maxFrame  = 4 << 20  // bytes of all strings of one reply or push
	maxList   = 32 << 20 // bytes of CLIENT LIST: some 350 for each connection of the server
	maxLine   = 64 << 10 // bytes of an error
	maxValues = 1 << 16  // in one reply: ours have one integer for each of 256 names; the client takes 40 bytes a value
	maxWide   = 1 << 19  // in a wide reply: 16,384 ranges of hash slots, three nodes each
	maxDepth  = 8        // of lists in lists; CLUSTER SHARDS has four
	maxDigits = 18
)

// frames finds where the values of RESP2 and RESP3 begin and end in a stream that is cut anywhere, and refuses what is
// no RESP, or more than any reply of ours. Texts are skipped by their lengths.
//
// Not understood, because no server sends them to us: strings and lists of unknown length ("$?").
type frames struct {
	state    frameState
	typ      byte // of the value that is being read
	negative bool
	digits   int
	number   int64
	line     int  // length of the line so far
	cr       bool // its last byte was a CR
	skip     int  // bytes still to come of a text, with its CRLF
	depth    int
	lists    [maxDepth]list

	// Of the present reply or push.
	bound  int // of values
	long   int // of one string
	values int
	bytes  int

	// What is kept of the value that is being read.
	keeps bool
	kept  int
	text  [textBytes]byte
}

// textBytes is how much is kept of an error, and of the first elements of a push.
const textBytes = 256

// list is a list that is not complete.
type list struct {
	left      int
	attribute bool
}

type frameState uint8

const (
	valueStart frameState = iota
	inNumber
	inNumberEnd // its LF is missing
	inLine
	inText
)

// protocolError is why a connection cannot be used any more.
type protocolError string

func (p protocolError) Error() string {
	return "wheellock: the server broke the protocol: " + string(p)
}

var (
	errType   error = protocolError("a value of a type that does not exist")
	errLine   error = protocolError("a line without a number, or without an end")
	errLength error = protocolError("a length that none of our replies has")
	errDepth  error = protocolError("lists in lists, deeper than any of our replies")
)

// integer is how long an integer with its CRLF is, if b holds all of it: the usual answer, and the short way.
func integer(b []byte) int {
	from := 0
	if len(b) > 0 && b[0] == '-' {
		from = 1
	}
	i := from
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == from || i-from > maxDigits || i+1 >= len(b) || b[i] != '\r' || b[i+1] != '\n' {
		return 0
	}
	return i + 2
}

// open is the first byte of a value.
func (f *frames) open(typ byte) error {
	f.typ, f.number, f.digits, f.negative = typ, 0, 0, false
	switch typ {
	case ':', '$', '!', '=', '*', '~', '%', '|', '>':
		f.state = inNumber
	case '+', '-', ',', '(', '_', '#':
		f.state, f.line, f.cr = inLine, 0, false
	default:
		return errType
	}
	return nil
}

// readNumber reads on in a number from b[n].
func (f *frames) readNumber(b []byte, n int) (int, error) {
	for ; n < len(b); n++ {
		switch c := b[n]; {
		case c-'0' <= 9 && (f.digits < maxDigits || f.typ == ':' && f.digits == maxDigits): // the value of an integer is the client's
			f.number = f.number*10 + int64(c-'0')
			f.digits++
		case c == '-' && f.digits == 0 && !f.negative:
			f.negative = true
		case c == '\r' && f.digits > 0:
			f.state = inNumberEnd
			return n + 1, nil
		default:
			return n, errLine
		}
	}
	return n, nil
}

// length is the number that was read.
func (f *frames) length() int64 {
	if f.negative {
		return -f.number
	}
	return f.number
}

// readLine reads on in a line from b[n]. ended: it is complete.
func (f *frames) readLine(b []byte, n int) (next int, ended bool, err error) {
	part, next := b[n:], len(b)
	if end := bytes.IndexByte(part, '\n'); end >= 0 {
		part, next, ended = part[:end], n+end+1, true
	}
	f.keep(part)
	f.line += len(part)
	if len(part) > 0 {
		f.cr = part[len(part)-1] == '\r'
	}
	if f.line > maxLine {
		return next, false, errLength
	}
	if !ended {
		return next, false, nil
	}
	if !f.cr || f.typ == '_' && f.line != len("\r") || f.typ == '#' && f.line != len("t\r") {
		return next, false, errLine
	}
	if f.keeps && f.kept == f.line {
		f.kept-- // the CR
	}
	return next, true, nil
}

// readText reads on in a text from b[n]. ended: it is complete.
func (f *frames) readText(b []byte, n int) (next int, ended bool, err error) {
	if body := min(f.skip-len("\r\n"), len(b)-n); body > 0 {
		f.keep(b[n : n+body])
		f.skip -= body
		n += body
	}
	for ; f.skip <= len("\r\n") && f.skip > 0 && n < len(b); n++ {
		if b[n] != "\n\r"[f.skip-1] {
			return n, false, errLine
		}
		f.skip--
	}
	return n, f.skip == 0, nil
}

func (f *frames) keep(part []byte) {
	if f.keeps {
		f.kept += copy(f.text[f.kept:], part)
	}
}

// reserve begins a text. ended: there is none.
func (f *frames) reserve() (ended bool, err error) {
	length := f.length()
	if length == -1 && f.typ == '$' {
		return true, nil
	}
	if length < 0 || length > int64(f.long) || f.bytes+int(length) > max(f.long, maxFrame) {
		return false, errLength
	}
	f.bytes += int(length)
	f.skip, f.state = int(length)+len("\r\n"), inText
	return false, nil
}

// elements is how many values a list announces; -1: not a list.
func (f *frames) elements() (int, error) {
	length := f.length()
	if length == -1 && f.typ == '*' {
		return -1, nil
	}
	if length < 0 || length > maxWide {
		return 0, errLength
	}
	if f.typ == '%' || f.typ == '|' {
		length *= 2
	}
	if f.values += int(length); f.values > f.bound {
		return 0, errLength
	}
	return int(length), nil
}

// enter begins a list.
func (f *frames) enter(length int) error {
	if f.depth == maxDepth {
		return errDepth
	}
	f.lists[f.depth] = list{length, f.typ == '|'}
	f.depth++
	f.state = valueStart
	return nil
}

// complete is the end of a value. whole: of the reply or push, too. An attribute is no value: the one it belongs to follows.
func (f *frames) complete() (whole bool) {
	f.state = valueStart
	for f.depth > 0 {
		in := &f.lists[f.depth-1]
		if in.left--; in.left > 0 {
			return false
		}
		f.depth--
		if in.attribute {
			return false
		}
	}
	f.values, f.bytes = 0, 0
	return true
}
