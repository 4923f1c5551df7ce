package respguard

import (
	"bytes"
	"slices"
	"sync"

	"go.uber.org/atomic"
)

// reply is how a command is answered.
type reply uint8

const (
	plainReply     reply = iota // by one value
	wideReply                   // by one value, which may be large: the map of a cluster, or what a key holds
	longReply                   // by one string, which may be long: the connections of the server
	helloReply                  // by one value; its type tells which protocol the connection speaks from then on
	filledReply                 // by a list that is not empty
	pairReply                   // by a list of two at least
	subscription                // by a confirmation for each channel, or by one error
	unsubscription              // by confirmations, and by the answer to the PING behind it
)

// expectedReply is a number of replies of one sort that the server owes; for a SUBSCRIBE the number of its channels.
type expectedReply struct {
	how reply
	n   int
}

// expectedReplies counts the replies that the server owes on one connection. The writer adds, the reader takes; both are one
// goroutine each at a time.
type expectedReplies struct {
	listens atomic.Bool // a channel was subscribed to, or given up

	mu    sync.Mutex // guards queue
	queue []expectedReply
	from  int // of queue: what lies before has been taken

	// Owned by the reader.
	head      expectedReply // the command that is answered next
	confirmed bool          // some of head's channels are confirmed, others not yet
	refused   bool          // head's UNSUBSCRIBE was refused, so that the answer to its PING comes next
	resp3     bool
}

// add notes commands that are about to leave.
func (e *expectedReplies) add(d expectedReply) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if last := len(e.queue) - 1; last >= e.from && d.how == plainReply && e.queue[last].how == plainReply {
		e.queue[last].n += d.n
		return
	}
	if e.from > 0 && (e.from == len(e.queue) || len(e.queue) == cap(e.queue) && 2*e.from >= len(e.queue)) {
		n := copy(e.queue, e.queue[e.from:]) // a queue that is never empty would grow for ever
		e.queue, e.from = e.queue[:n], 0
	}
	e.queue = append(e.queue, d)
}

// any reports whether a reply is expected, and makes head the one that is.
func (e *expectedReplies) any() bool {
	if e.head.n > 0 {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.from == len(e.queue) {
		return false
	}
	e.head = e.queue[e.from]
	e.from++
	return true
}

// answered takes one in-band reply of which any has told. text is the beginning of an error or a simple string.
func (e *expectedReplies) answered(typ byte, text []byte) error {
	switch e.head.how {
	case plainReply, wideReply, longReply, filledReply, pairReply:
		e.head.n--
		return nil
	case helloReply:
		e.resp3 = typ == '%' || e.resp3 && (typ == '-' || typ == '!')
		e.head.n--
		return nil
	case subscription: // rueidis panics at another reply, or loses count
		if e.confirmed || typ != '-' && typ != '!' {
			return protocolError("a reply in place of the confirmation of a subscription")
		}
		e.head.n = 0
		return nil
	default:
		return e.unsubscribing(typ, text)
	}
}

// unsubscribing takes the in-band replies to an UNSUBSCRIBE and the PING behind it: in most cases one, to the PING.
//
// rueidis takes BUSY and LOADING for what the PING was told. A server that is busy with a script refuses both
// commands: the second refusal then belongs to nothing, and rueidis panics. A server that refuses the PING alone, by
// MISCONF or MASTERDOWN, has rueidis wait for an answer that never comes. So these end the connection. What is left: a
// missing right (NOPERM), what a cluster says of a channel if its hash slot has left (MOVED) or is served by nobody
// (CLUSTERDOWN), that there was no subscription, because it had been refused (NOSUB, of Valkey 8.0), and that the server
// has no such command. These leave the PING alone, and a node may go on saying them:
// were they the end, the other channels would be cut off each time.
func (e *expectedReplies) unsubscribing(typ byte, text []byte) error {
	switch {
	case isPong(typ, text):
		e.head.n, e.refused = 0, false
		return nil
	case e.refused || typ != '-':
	case slices.ContainsFunc(harmless, func(first string) bool { return bytes.HasPrefix(text, []byte(first)) }):
		e.refused = true
		return nil
	}
	return errRefused
}

// harmless are the first words of those refusals of an UNSUBSCRIBE that leave the PING behind it alone.
var harmless = []string{"NOPERM", "MOVED", "CLUSTERDOWN", "NOSUB", "ERR unknown command"}

// isPong reports whether a reply is one that rueidis takes for the answer to the PING behind an UNSUBSCRIBE. A list is one, because
// its first element has been looked at already.
func isPong(typ byte, text []byte) bool {
	switch typ {
	case '+':
		return string(text) == "PONG"
	case '-':
		return bytes.Contains(text, []byte("'ping'"))
	default:
		return typ == '*' && string(text) == "pong"
	}
}

// fits reports whether a list of this length answers head: rueidis looks at elements of some without counting them.
func (e *expectedReplies) fits(length int) error {
	if length >= 0 && (e.head.how == filledReply && length < 1 || e.head.how == pairReply && length < 2) {
		return errLength
	}
	return nil
}

// push takes a push, or what stands for one in RESP2, by its first element and its length.
func (e *expectedReplies) push(kind []byte, length int) error {
	switch string(kind) {
	case "subscribe", "psubscribe", "ssubscribe":
		if !e.any() || e.head.how != subscription || length != confirmationLength {
			return protocolError("the confirmation of a subscription that nobody asked for")
		}
		e.head.n--
		e.confirmed = e.head.n > 0
	case "unsubscribe", "punsubscribe", "sunsubscribe": // a node of a cluster says so by itself, too
		if e.confirmed || length != confirmationLength { // rueidis would count it as one of the confirmations
			return protocolError("the end of a subscription between confirmations")
		}
	}
	return nil
}

// confirmationLength is that of the confirmation of a subscription, or of its end.
const confirmationLength = 3
