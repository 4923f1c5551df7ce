package respguard

import (
	"bytes"
	"errors"
)

// replies follows what a server sends on a connection, before the client reads it, and ends the connection where rueidis
// (1.0.79) would end the process or give a reply to the wrong command:
//   - rueidis reserves memory for any length that is announced, panics at a negative one, and recurses without bound;
//   - a reply that nobody asked for makes it panic on a connection that listens ("protocol bug"), and is otherwise
//     taken for the answer to the next command.
//
// So every byte must belong to a value within the bounds of frames.go, and every reply must be expected (expectedreplies.go). What a
// reply says is not judged here, but for the few that rueidis indexes without a look at their lengths. The reader owns it.
type replies struct {
	frames
	expected *expectedReplies

	// Of the present reply or push.
	class  class
	outer  byte  // its type
	length int   // of its list
	stage  stage // which of its elements is looked at
	words  int   // that the message must have
}

// class is what a value is that stands in no other.
type class uint8

const (
	inBand class = iota // a reply
	pushed
	either // RESP2 has messages and replies in the same form: the first element tells
)

// stage is what is looked at in a push.
type stage uint8

const (
	nothing stage = iota
	atKind
	atChannel
	atPayload
)

var (
	errUnasked error = protocolError("a reply that nobody asked for")
	errKind    error = protocolError("a push without a kind, or within a reply")
	errWords   error = protocolError("a redirection that names no address")
	// errRefused ends a connection on which the client could not count any more.
	errRefused = errors.New("wheellock: the server refused to unsubscribe")
)

// follow reads bytes that have come. It stops before an error that answers a HELLO, unless pass lets the first one by.
func (r *replies) follow(b []byte, pass bool) (n int, err error) {
	for n < len(b) && err == nil {
		ended := false
		switch r.state {
		case valueStart:
			typ := b[n]
			if r.depth == 0 {
				if err = r.begin(typ); err != nil {
					return n, err
				}
				if typ == '-' && r.expected.head.how == helloReply && !pass {
					return n, nil
				}
				pass = false
			}
			n++
			if used := 0; typ == ':' && r.stage == nothing {
				if used = integer(b[n:]); used > 0 {
					n += used
					ended = true
					break
				}
			}
			err = r.open(typ)
		case inNumber:
			n, err = r.readNumber(b, n)
		case inNumberEnd:
			if b[n] != '\n' {
				return n, errLine
			}
			n++
			ended, err = r.counted()
		case inLine:
			n, ended, err = r.readLine(b, n)
		case inText:
			n, ended, err = r.readText(b, n)
		}
		if ended && err == nil {
			err = r.ended()
		}
	}
	return n, err
}

// begin is the first byte of a value that stands in no other.
func (r *replies) begin(typ byte) error {
	r.bound, r.long = maxValues, maxText
	if typ == '|' { // what it belongs to follows
		return nil
	}
	r.outer, r.class, r.stage = typ, inBand, nothing
	switch {
	case typ == '>':
		r.class = pushed
	case typ == '*' && !r.expected.resp3 && r.expected.listens.Load():
		r.class = either
	case !r.expected.any():
		return errUnasked
	case typ == '*' && r.expected.head.how == unsubscription: // a PONG has this form, too
		r.class = either
	case r.expected.head.how == wideReply:
		r.bound = maxWide
	case r.expected.head.how == longReply:
		r.long = maxList
	}
	return nil
}

// open is the first byte of a value.
func (r *replies) open(typ byte) error {
	outermost := r.depth == 0
	if typ == '>' && !outermost || r.stage == atKind && typ != '$' && typ != '+' {
		return errKind
	}
	r.keeps = outermost && (typ == '-' || typ == '!' || typ == '+') || r.depth == 1 && r.stage != nothing
	if r.keeps {
		r.kept = 0
	}
	return r.frames.open(typ)
}

// counted is the end of a number.
func (r *replies) counted() (ended bool, err error) {
	switch r.typ {
	case ':':
		return true, nil
	case '$', '!', '=':
		return r.reserve()
	}
	length, err := r.elements()
	if err == nil && r.depth == 0 && r.typ != '|' {
		err = r.list(length)
	}
	switch {
	case err != nil:
		return false, err
	case length > 0:
		return false, r.enter(length)
	case r.typ == '|':
		r.state = valueStart
		return false, nil
	}
	return true, nil
}

// list is one that stands in no other.
func (r *replies) list(length int) error {
	r.length = length
	switch r.class {
	case pushed:
		if length == 0 {
			return errKind
		}
		r.stage = atKind
	case either:
		if length > 0 {
			r.stage = atKind
			return nil
		}
		return r.inBand()
	case inBand:
		if r.typ == '*' || r.typ == '~' {
			return r.expected.fits(length)
		}
	}
	return nil
}

// inBand finds that what might have been a message is a reply.
func (r *replies) inBand() error {
	r.class = inBand
	if !r.expected.any() {
		return errUnasked
	}
	return nil
}

// ended is the end of a value.
func (r *replies) ended() error {
	if r.stage != nothing && r.depth == 1 {
		if err := r.look(); err != nil {
			return err
		}
	}
	if !r.complete() || r.class == pushed {
		return nil
	}
	text := r.text[:r.kept]
	if r.outer == '-' || r.outer == '!' {
		if !leads(text) {
			return errWords
		}
	}
	err := r.expected.answered(r.outer, text)
	r.kept = 0
	return err
}

// look is the end of an element of a push that is looked at.
func (r *replies) look() error {
	text := r.text[:r.kept]
	stage := r.stage
	r.stage, r.keeps = nothing, false
	switch stage {
	case atKind:
		if r.class == either && string(text) == "pong" {
			return r.inBand()
		}
		if r.class == either && r.expected.resp3 {
			return errRefused
		}
		r.class = pushed
		if string(text) == "message" {
			r.stage = atChannel
			return nil
		}
		return r.expected.push(text, r.length)
	case atChannel:
		if r.words = eventWords(text); r.words > 0 {
			r.stage = atPayload
		}
	case atPayload:
		if bytes.Count(text, []byte(" "))+1 < r.words {
			return protocolError("an event of a sentinel that names no address")
		}
	}
	return nil
}

// eventWords is how many words of an event of a sentinel rueidis looks at. No channel of ours has such a name.
func eventWords(channel []byte) int {
	switch string(channel) {
	case "+sentinel", "+reboot":
		return 4
	case "+switch-master":
		return 5
	}
	return 0
}

// leads reports whether a redirection has the words that rueidis looks at; any other error does.
func leads(text []byte) bool {
	least := 0
	switch {
	case bytes.HasPrefix(text, []byte("MOVED")), bytes.HasPrefix(text, []byte("ASK")):
		least = 2
	case bytes.HasPrefix(text, []byte("REDIRECT")):
		least = 1
	}
	return bytes.Count(text, []byte(" ")) >= least
}
