package respguard

// requests follows the commands that leave on a connection, and notes what the server will owe for each. It looks at
// the headers and at the names of the commands; everything else is skipped by its length. The writer owns it.
type requests struct {
	expected *expectedReplies
	state    requestState
	number   int             // the header that is being read
	args     int             // of the present command, still to come
	given    int             // of the present command, in all
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
func (q *requests) follow(b []byte) error {
	for i := 0; i < len(b); {
		switch q.state {
		case commandStart:
			if b[i] != '*' {
				return protocolError("the client wrote no command")
			}
			q.state, q.number = commandNumber, 0
			i++
		case argumentStart:
			if n := argument(b[i:]); n > 0 && q.given-q.args > 1 {
				i += n
				q.argued()
				break
			}
			q.state, q.number = argumentNumber, 0
			i++
		case commandNumber, argumentNumber:
			for i < len(b) && b[i]-'0' <= 9 {
				q.number = q.number*10 + int(b[i]-'0')
				i++
			}
			if i < len(b) {
				if b[i] == '\n' {
					q.counted()
				}
				i++
			}
		default:
			n := min(q.skip, len(b)-i)
			if first := q.given - q.args; first < 2 {
				q.keep(first, b[i:i+n])
			}
			i += n
			if q.skip -= n; q.skip == 0 {
				q.argued()
			}
		}
	}
	q.flush()
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
func (q *requests) counted() {
	if q.state == commandNumber {
		q.given, q.args, q.named, q.mored = q.number, q.number, 0, 0
		q.state = argumentStart
		return
	}
	q.skip, q.state = q.number+len("\r\n"), argumentText
}

// keep keeps the beginning of the first two arguments; some of their CRLF may be among it.
func (q *requests) keep(argument int, text []byte) {
	text = text[:max(0, min(len(text), q.skip-len("\r\n")))]
	if argument == 0 {
		q.named += copy(q.name[q.named:], text)
	} else {
		q.mored += copy(q.more[q.mored:], text)
	}
}

// argued is the end of an argument.
func (q *requests) argued() {
	q.state = argumentStart
	if q.args--; q.args > 0 {
		return
	}
	q.state = commandStart
	if q.pings {
		q.pings = false
		return
	}
	d := q.command()
	if d.how == plainReply {
		q.plain++
		return
	}
	q.flush()
	q.expected.add(d)
}

// flush notes the plain commands so far.
func (q *requests) flush() {
	if q.plain > 0 {
		q.expected.add(expectedReply{plainReply, q.plain})
		q.plain = 0
	}
}

// command says how the present command is answered. The names are as rueidis writes them.
func (q *requests) command() expectedReply {
	switch string(q.name[:q.named]) {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE":
		q.expected.listens.Store(true)
		return expectedReply{subscription, q.given - 1}
	case "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE":
		q.expected.listens.Store(true)
		q.pings = true
		return expectedReply{unsubscription, 1}
	case "HELLO":
		return expectedReply{helloReply, 1}
	case "CLUSTER", "EVAL":
		return expectedReply{wideReply, 1}
	case "CLIENT":
		if string(q.more[:q.mored]) == "LIST" {
			return expectedReply{longReply, 1}
		}
	case "ROLE": // rueidis looks at the first element
		return expectedReply{filledReply, 1}
	case "SENTINEL":
		if string(q.more[:q.mored]) == "GET-MASTER-ADDR-BY-NAME" { // and here at the second
			return expectedReply{pairReply, 1}
		}
		return expectedReply{wideReply, 1}
	}
	return expectedReply{plainReply, 1}
}
