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
func (o *expectedReplies) add(d expectedReply) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last := len(o.queue) - 1; last >= o.from && d.how == plainReply && o.queue[last].how == plainReply {
		o.queue[last].n += d.n
		return
	}
	if o.from > 0 && (o.from == len(o.queue) || len(o.queue) == cap(o.queue) && 2*o.from >= len(o.queue)) {
		n := copy(o.queue, o.queue[o.from:]) // a queue that is never empty would grow for ever
		o.queue, o.from = o.queue[:n], 0
	}
	o.queue = append(o.queue, d)
}

// any reports whether a reply is expected, and makes head the one that is.
func (o *expectedReplies) any() bool {
	if o.head.n > 0 {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.from == len(o.queue) {
		return false
	}
	o.head = o.queue[o.from]
	o.from++
	return true
}

// answered takes one in-band reply of which any has told. text is the beginning of an error or a simple string.
func (o *expectedReplies) answered(typ byte, text []byte) error {
	switch o.head.how {
	case plainReply, wideReply, longReply, filledReply, pairReply:
		o.head.n--
		return nil
	case helloReply:
		o.resp3 = typ == '%' || o.resp3 && (typ == '-' || typ == '!')
		o.head.n--
		return nil
	case subscription: // rueidis panics at another reply, or loses count
		if o.confirmed || typ != '-' && typ != '!' {
			return protocolError("a reply in place of the confirmation of a subscription")
		}
		o.head.n = 0
		return nil
	default:
		return o.unsubscribing(typ, text)
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
func (o *expectedReplies) unsubscribing(typ byte, text []byte) error {
	switch {
	case isPong(typ, text):
		o.head.n, o.refused = 0, false
		return nil
	case o.refused || typ != '-':
	case slices.ContainsFunc(harmless, func(first string) bool { return bytes.HasPrefix(text, []byte(first)) }):
		o.refused = true
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
func (o *expectedReplies) fits(length int) error {
	if length >= 0 && (o.head.how == filledReply && length < 1 || o.head.how == pairReply && length < 2) {
		return errLength
	}
	return nil
}

// push takes a push, or what stands for one in RESP2, by its first element and its length.
func (o *expectedReplies) push(kind []byte, length int) error {
	switch string(kind) {
	case "subscribe", "psubscribe", "ssubscribe":
		if !o.any() || o.head.how != subscription || length != confirmationLength {
			return protocolError("the confirmation of a subscription that nobody asked for")
		}
		o.head.n--
		o.confirmed = o.head.n > 0
	case "unsubscribe", "punsubscribe", "sunsubscribe": // a node of a cluster says so by itself, too
		if o.confirmed || length != confirmationLength { // rueidis would count it as one of the confirmations
			return protocolError("the end of a subscription between confirmations")
		}
	}
	return nil
}

// confirmationLength is that of the confirmation of a subscription, or of its end.
const confirmationLength = 3
