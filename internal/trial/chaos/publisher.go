package chaos

import (
	"slices"
	"strconv"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit/resp"
	"github.com/wheellock/wheellock/scripts"
)

// publisher is somebody who may PUBLISH and PSUBSCRIBE, and nothing else: it hears every message, and no engine counts it.
type publisher struct {
	subscriber, sender *resp.Conn
	said               map[string]bool // what it has made up, so that it knows what others say
	published          int
	token              int64 // the last negative number that it has heard, without the sign; else what a token may be now
}

const (
	burst     = 50                   // how many messages it says at a time
	farAhead  = 1_000_000_000_000    // a token that Redis makes in weeks
	betweenIt = 2 * time.Millisecond // from one burst to the next
)

// newPublisher lets one in. nil: the server does not take it.
func newPublisher(server *redistest.Server) *publisher {
	if server.Do("ACL", "SETUSER", "publisher", "on", ">word", "resetkeys", "resetchannels", "&*", "-@all", "+publish", "+psubscribe").Err() != nil {
		return nil
	}
	p := &publisher{said: make(map[string]bool), token: time.Now().UnixMicro()}
	for _, conn := range []**resp.Conn{&p.subscriber, &p.sender} {
		c, err := resp.Dial("tcp", server.Addr(), "", "", time.Second)
		if err != nil {
			p.leave()
			return nil
		}
		*conn = c
		if c.DoWithin(time.Second, "AUTH", "publisher", "word").Err() != nil {
			p.leave()
			return nil
		}
	}
	if p.subscriber.DoWithin(time.Second, "PSUBSCRIBE", "*").Err() != nil {
		p.leave()
		return nil
	}
	return p
}

// leave ends its connections.
func (p *publisher) leave() {
	for _, c := range []*resp.Conn{p.subscriber, p.sender} {
		if c != nil {
			_ = c.Close() // it has nothing to say any more
		}
	}
}

// attack says on a channel what hides the messages of others, and on every channel at once what it makes of what it hears. It
// returns when the time is over, or the server does not answer.
func (p *publisher) attack(channel string, lasts time.Duration) {
	end := time.Now().Add(lasts)
	hears := make(chan [2]string, 1000)
	go func() { // it ends with its connection
		defer close(hears)
		for {
			m := p.subscriber.Read()
			if m.Lost() != nil {
				return
			}
			if words := m.Texts(); len(words) == 4 {
				hears <- [2]string{words[2], words[3]}
			}
		}
	}()
	defer func() {
		_ = p.subscriber.Close()
		for range hears { // what is still on its way
		}
	}()
	flood := slices.Repeat([]string{"77"}, burst)
	for time.Now().Before(end) {
		if !p.say(channel, append(flood, "0", "1", strconv.FormatInt(-p.token-farAhead, 10))...) {
			return
		}
		pause := time.After(betweenIt)
		for waits := true; waits; {
			select {
			case m, open := <-hears:
				if !open || !p.answer(m[0], m[1]) {
					return
				}
			case <-pause:
				waits = false
			}
		}
	}
}

// answer makes of a message of others what may be taken for another: the same again, a token that is far ahead and one that is over
// before it, and a code with a token in it.
func (p *publisher) answer(channel, text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n == 77 || n == 0 || n == 1 || p.said[text] {
		return true
	}
	if n < 0 {
		p.token = -n
		return true
	}
	if n < farAhead {
		return true
	}
	ahead, behind := strconv.FormatInt(-p.token-farAhead, 10), strconv.FormatInt(-p.token+farAhead, 10)
	for range 5 {
		if !p.say(channel, ahead, text, behind, text, ahead, strconv.FormatInt(n+p.token%farAhead, 10)) {
			return false
		}
	}
	return true
}

// say publishes on a channel.
func (p *publisher) say(channel string, texts ...string) bool {
	for _, text := range texts {
		p.said[text] = true
		p.sender.Queue("PUBLISH", channel, text)
	}
	_ = p.sender.SetDeadline(time.Now().Add(time.Second)) // the answers tell
	if p.sender.Flush() != nil {
		return false
	}
	for range texts {
		if p.sender.Read().Err() != nil {
			return false
		}
	}
	p.published += len(texts)
	return true
}

// publish has a publisher attack the holders of one name, every other time of a fenced lock.
func publish(s *strike) bool {
	p := newPublisher(s.server)
	if p == nil {
		return false
	}
	defer p.leave()
	place := s.places[s.IntN(len(s.places))]
	for half := s.IntN(2) == 0; half && place.Kind != fenced; {
		place = s.places[s.IntN(len(s.places))]
	}
	p.attack(scripts.LockChannel(place.Name), 300*time.Millisecond)
	return p.published > burst
}

// counters are the last tokens that Redis has made, by the names of fenced locks.
func (ph *phase) counters() map[string]int64 {
	last := make(map[string]int64)
	for _, p := range ph.places {
		if n, err := strconv.ParseInt(ph.server.Do("GET", scripts.TokenKey(p.Name)).Text, 10, 64); err == nil {
			last[p.Name] = n
		}
	}
	return last
}
