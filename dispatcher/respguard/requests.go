package respguard

// requests follows the commands that leave on a connection, and notes what the server will owe for each. It looks at
// the headers and at the names of the commands; everything else is skipped by its length. The writer owns it.
type requests struct {
	expected *expectedReplies
	state    requestState
	number   int             // the header that is being read
	args     int             // of the present command, still to come
	words    int             // of the present command, in all
	skip     int             // bytes still to come of the present argument, with its CRLF
	plain    int             // commands that have ended and are not noted yet
	pings    bool            // the present command is the PING behind an UNSUBSCRIBE, which is no command of its own
	name     [nameBytes]byte // the beginning of the first argument
	named    int
	more     [nameBytes]byte // of the second one
	mored    int
}

// nameBytes is more than any name has that matters.
const nameBytes = 24

type requestState uint8

const (
	commandStart requestState = iota
	commandNumber
	argumentStart
	argumentNumber
	argumentText
)

// follow reads bytes that are about to leave.
func (r *requests) follow(b []byte) error {
	for i := 0; i < len(b); {
		switch r.state {
		case commandStart:
			if b[i] != '*' {
				return protocolError("the client wrote no command")
			}
			r.state, r.number = commandNumber, 0
			i++
		case argumentStart:
			if n := argument(b[i:]); n > 0 && r.words-r.args > 1 {
				i += n
				r.endArgument()
				break
			}
			r.state, r.number = argumentNumber, 0
			i++
		case commandNumber, argumentNumber:
			for i < len(b) && b[i]-'0' <= 9 {
				r.number = r.number*10 + int(b[i]-'0')
				i++
			}
			if i < len(b) {
				if b[i] == '\n' {
					r.counted()
				}
				i++
			}
		default:
			n := min(r.skip, len(b)-i)
			if first := r.words - r.args; first < 2 {
				r.keep(first, b[i:i+n])
			}
			i += n
			if r.skip -= n; r.skip == 0 {
				r.endArgument()
			}
		}
	}
	r.flush()
	return nil
}

// argument is how long an argument with its header is, if b holds all of it: the usual case, and the short way.
func argument(b []byte) int {
	number, i := 0, 1
	for i < len(b) && b[i]-'0' <= 9 {
		number = number*10 + int(b[i]-'0')
		i++
	}
	if i += len("\r\n") + number + len("\r\n"); i > len(b) {
		return 0
	}
	return i
}

// counted is the end of a header.
func (r *requests) counted() {
	if r.state == commandNumber {
		r.words, r.args, r.named, r.mored = r.number, r.number, 0, 0
		r.state = argumentStart
		return
	}
	r.skip, r.state = r.number+len("\r\n"), argumentText
}

// keep keeps the beginning of the first two arguments; some of their CRLF may be among it.
func (r *requests) keep(argument int, text []byte) {
	text = text[:max(0, min(len(text), r.skip-len("\r\n")))]
	if argument == 0 {
		r.named += copy(r.name[r.named:], text)
	} else {
		r.mored += copy(r.more[r.mored:], text)
	}
}

// endArgument handles the end of an argument.
func (r *requests) endArgument() {
	r.state = argumentStart
	if r.args--; r.args > 0 {
		return
	}
	r.state = commandStart
	if r.pings {
		r.pings = false
		return
	}
	d := r.command()
	if d.how == plainReply {
		r.plain++
		return
	}
	r.flush()
	r.expected.add(d)
}

// flush notes the plain commands so far.
func (r *requests) flush() {
	if r.plain > 0 {
		r.expected.add(expectedReply{plainReply, r.plain})
		r.plain = 0
	}
}

// command says how the present command is answered. The names are as rueidis writes them.
func (r *requests) command() expectedReply {
	switch string(r.name[:r.named]) {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE":
		r.expected.listens.Store(true)
		return expectedReply{subscription, r.words - 1}
	case "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE":
		r.expected.listens.Store(true)
		r.pings = true
		return expectedReply{unsubscription, 1}
	case "HELLO":
		return expectedReply{helloReply, 1}
	case "CLUSTER", "EVAL":
		return expectedReply{wideReply, 1}
	case "CLIENT":
		if string(r.more[:r.mored]) == "LIST" {
			return expectedReply{longReply, 1}
		}
	case "ROLE": // rueidis looks at the first element
		return expectedReply{filledReply, 1}
	case "SENTINEL":
		if string(r.more[:r.mored]) == "GET-MASTER-ADDR-BY-NAME" { // and here at the second
			return expectedReply{pairReply, 1}
		}
		return expectedReply{wideReply, 1}
	}
	return expectedReply{plainReply, 1}
}
