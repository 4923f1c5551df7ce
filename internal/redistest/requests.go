package redistest

import (
	"strings"
	"sync"
)

// requests remembers what a client asked on one connection and was not yet answered, oldest first: Redis
// answers in order, so the next answer is the oldest's.
//
// The exceptions are subscriptions. In RESP3 they are confirmed by one push for each channel, not by an
// answer, unless they fail. An UNSUBSCRIBE that names no channel is confirmed by nobody knows how many, so
// it is not remembered; were it to fail, its error would be taken for the answer of the next request.
type requests struct {
	mu    sync.Mutex // guards the rest
	queue []request
	lost  bool // the order can no longer be told; nothing is remembered
}

type request struct {
	args     []string // as splitter keeps them
	confirms int64    // of a subscription: channels not yet confirmed; 0 for any other
}

// add remembers a request on its way to the server. elements counts all its arguments, args may be cut.
func (r *requests) add(args []string, elements int64) {
	if len(args) == 0 {
		return // Redis passes over an empty line or list
	}
	next := request{args: args}
	switch strings.ToUpper(args[0]) {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE":
		next.confirms = elements - 1
	case "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE":
		if next.confirms = elements - 1; next.confirms == 0 {
			return
		}
	case "MONITOR", "SYNC", "PSYNC":
		r.lose() // what follows is a stream without requests
		return
	case "CLIENT":
		if len(args) > 1 && strings.EqualFold(args[1], "REPLY") {
			r.lose() // some requests will have no answer
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lost {
		r.queue = append(r.queue, next)
	}
}

// next returns the request that an answer beginning with the byte kind belongs to.
func (r *requests) next(kind byte) (args []string, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		return nil, false
	}
	if r.queue[0].confirms > 0 && kind != '-' {
		// RESP2: confirmations and messages look like answers and cannot be told apart by order.
		r.lost, r.queue = true, nil
		return nil, false
	}
	return r.queue[0].args, true
}

// answered forgets the oldest request.
func (r *requests) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) > 0 {
		r.queue = r.queue[1:]
	}
}

// confirmed counts a push towards the oldest request if that is the subscription it names.
func (r *requests) confirmed(push string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 || r.queue[0].confirms == 0 || !strings.EqualFold(r.queue[0].args[0], push) {
		return
	}
	if r.queue[0].confirms--; r.queue[0].confirms == 0 {
		r.queue = r.queue[1:]
	}
}

// lose gives the connection up: from here on no answer is anyone's.
func (r *requests) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost, r.queue = true, nil
}

func (r *requests) isLost() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}
