package explore

import (
	"slices"
	"strconv"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// A publisher is somebody who may PUBLISH and PSUBSCRIBE, and nothing else. It hears every message, and PUBSUB NUMSUB does not
// count it. What it may say is noted in state.sayings, in the order in which it could be said first: the numbers that the engines'
// messages consist of, whatever was heard, and what can be made of that.

// constants are what anybody may say on a channel that is known: a lock that is free, a waiter of Redisson that is to ask, and a
// number that nobody waits for.
var constants = []string{"0", "1", "77"}

// ninth is the unit above the last nine digits of a number.
const ninth = 1_000_000_000

// mostSayings is how many are kept: the last ones. Worlds that are searched have fewer.
const mostSayings = 60

// meets is a channel that somebody listens to: a publisher can guess its name.
func (s *state) meets(channel string) {
	if s.w.MostPublished == 0 {
		return
	}
	for _, text := range constants {
		s.learns(channel, text)
	}
}

// overhears notes what a publisher can say once it has heard a message: the same again; of a negative number, which may announce a
// token, the same with the last nine digits of another token; of a large one, which may be a code, the same with a token added to
// its last nine digits, or taken off.
func (s *state) overhears(m message) {
	if s.w.MostPublished == 0 {
		return
	}
	s.learns(m.channel, m.text)
	n, err := strconv.ParseInt(m.text, 10, 64)
	switch {
	case err != nil:
	case n < 0:
		s.learns(m.channel, strconv.FormatInt(n-ninth, 10))
		s.learns(m.channel, strconv.FormatInt(n+ninth, 10))
		s.announced = -n
	case n >= ninth && s.announced != 0:
		for _, token := range []int64{s.announced, ninth - s.announced%ninth} {
			tail := (n%ninth + token%ninth) % ninth
			s.learns(m.channel, strconv.FormatInt(n-n%ninth+tail, 10))
		}
	}
}

func (s *state) learns(channel, text string) {
	m := message{channel, text}
	if slices.Contains(s.sayings, m) {
		return
	}
	s.sayings = append(s.sayings, m)
	if len(s.sayings) > mostSayings {
		s.sayings = slices.Delete(s.sayings, 0, 1)
	}
}

// publishMoves appends what a publisher may say.
func (s *state) publishMoves(all []Move) []Move {
	if s.published >= s.w.MostPublished {
		return all
	}
	for i, m := range s.sayings {
		if len(s.listeners(m.channel, false)) > 0 {
			all = append(all, Move{do: publish, engine: -1, index: int8(i)})
		}
	}
	return all
}

// publishes says it. False: it cannot.
func (s *state) publishes(i int) bool {
	if s.published >= s.w.MostPublished || i >= len(s.sayings) {
		return false
	}
	m := s.sayings[i]
	s.published++
	s.note("    a publisher says %s on %s", m.text, m.channel)
	for _, e := range s.listeners(m.channel, false) {
		if !e.dead {
			e.messages = append(e.messages, m)
		}
	}
	return true
}

// mostUnpaid is how many commands of a name may follow an event that is no message: what the event asks for, and what comes of the
// answers to that. Each call may ask for one thing more.
const mostUnpaid = 3

// sends counts a command. A message costs one at the most, whatever it says.
func (e *engine) sends(name string) {
	if e.s.w.MostPublished == 0 {
		return
	}
	e.unpaid[name]++
	if n := e.unpaid[name]; n > mostUnpaid+e.called {
		e.s.violate("messages-cost-little", "%v has sent %d commands of %s more than it has heard messages", e, n, name)
	}
}

// pays counts messages.
func (e *engine) pays(channel string, news gate.News) {
	if e.s.w.MostPublished == 0 {
		return
	}
	for _, c := range e.heard[channel] {
		e.unpaid[c.Name] -= int(news.N)
	}
}

// countAnew begins to count: something else than a message or an answer came.
func (s *state) countAnew() {
	for _, e := range s.engines {
		clear(e.unpaid)
	}
}

// makes notes the last token of a block that a script has made.
func (s *state) makes() {
	counter := scripts.TokenKey(nameOf(0))
	last, err := strconv.ParseInt(s.do("GET", counter).Str, 10, 64)
	if err == nil && !slices.Contains(s.made, last) {
		s.made = append(s.made, last)
	}
}

// checkMade: a hold has a token that Redis has made.
func (s *state) checkMade(c *caller) {
	if c.name != 0 {
		return
	}
	if !slices.ContainsFunc(s.made, func(last int64) bool { return c.hold.Token <= last && c.hold.Token > last-gate.TokenBlock }) {
		s.violate("tokens-grow", "%v was given token %d, which Redis has not made", c, c.hold.Token)
	}
}
