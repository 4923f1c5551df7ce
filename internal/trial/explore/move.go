package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Move is one event. Its text is "<engine>.<what><index>@<name>", without the parts that do not apply: "A.lock", "B.run1",
// "tick", "A.lock@2".
type Move struct {
	do     action
	call   Call
	fault  Fault
	engine int8
	index  int8
	name   int8
}

type action uint8

const (
	doCall           action = iota
	unlock                  // a caller gives its hold back, or finds that it is over
	ring                    // the loop sees to what is due
	run                     // a command runs in Redis
	arrive                  // its answer arrives
	confirm                 // a channel is subscribed to
	hear                    // a message arrives
	mend                    // the connection for commands is there again
	mendSubscription        // that for messages
	resume                  // a loop that stood still goes on
	letGo                   // a command that was held up goes on
	letSubscribe            // so does the subscriber
	letHear                 // so do messages
	runStray                // a command that nobody waits for runs
	heal                    // the server takes writes again
	tick                    // time passes until something is due
	publish                 // a publisher says something
	doFault
	actions
)

var actionNames = [actions]string{
	doCall: "", unlock: "unlock", ring: "ring", run: "run", arrive: "arrive", confirm: "confirm", hear: "hear", mend: "mend",
	mendSubscription: "mend-subscription", resume: "resume",
	letGo: "let-go", letSubscribe: "let-subscribe", letHear: "let-hear", runStray: "run-stray", heal: "heal", tick: "tick", publish: "publish", doFault: "",
}

func (m Move) String() string {
	var b strings.Builder
	if m.engine >= 0 {
		b.WriteByte(byte('A' + m.engine))
		b.WriteByte('.')
	}
	switch m.do {
	case doCall:
		b.WriteString(m.call.String())
	case doFault:
		b.WriteString(m.fault.String())
	default:
		b.WriteString(actionNames[m.do])
	}
	if m.index > 0 {
		fmt.Fprintf(&b, "#%d", m.index)
	}
	if m.name > 0 {
		fmt.Fprintf(&b, "@%d", m.name)
	}
	return b.String()
}

// ParseMoves reads moves that are separated by white space.
func ParseMoves(text string) ([]Move, error) {
	var moves []Move
	for _, word := range strings.Fields(text) {
		m, err := parseMove(word)
		if err != nil {
			return nil, err
		}
		moves = append(moves, m)
	}
	return moves, nil
}

func parseMove(word string) (Move, error) {
	m := Move{engine: -1}
	rest := word
	if len(rest) > 2 && rest[1] == '.' {
		m.engine, rest = int8(rest[0]-'A'), rest[2:]
	}
	var err error
	number := func(sep string) (n int8) {
		before, after, found := strings.Cut(rest, sep)
		if !found {
			return 0
		}
		rest = before
		i, e := strconv.ParseInt(after, 10, 8)
		if e != nil {
			err = fmt.Errorf("move %q: %w", word, e)
		}
		return int8(i)
	}
	m.name = number("@")
	m.index = number("#")
	if err != nil {
		return m, err
	}
	if i := slices.Index(callNames[:], rest); i >= 0 {
		m.do, m.call = doCall, Call(i)
	} else if i := slices.Index(faultNames[:], rest); i >= 0 {
		m.do, m.fault = doFault, Fault(i)
	} else if i := slices.Index(actionNames[:], rest); i > 0 {
		m.do = action(i)
	} else {
		return m, fmt.Errorf("move %q: there is no such event", word)
	}
	return m, nil
}

func formatMoves(moves []Move) string {
	words := make([]string, len(moves))
	for i, m := range moves {
		words[i] = m.String()
	}
	return strings.Join(words, " ")
}
