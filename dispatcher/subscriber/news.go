package subscriber

import (
	"strconv"
	"sync"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/wheel/stall"
)

// news is what was heard since the loop looked, summed up by channel. So what a flood of messages takes is bounded by the
// channels that are listened to.
type news struct {
	mu          sync.Mutex // guards the rest; held for one entry or a swap
	heard, read map[string]gate.News
}

// maxRead is how many channels an emptied map may have had that is used again.
const maxRead = 8192

func newNews() news {
	return news{heard: make(map[string]gate.News), read: make(map[string]gate.News)}
}

// add notes a message. first: it is the first since the last take.
func (n *news) add(channel, message string) (first bool) {
	said, err := strconv.ParseInt(message, 10, 64)
	if err != nil { // not Redisson's; news all the same
		said = 1
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	first = len(n.heard) == 0
	news := n.heard[channel]
	news.Add(said)
	n.heard[channel] = news
	return first
}

// take swaps the two maps. What it returns is valid until the next take.
func (n *news) take() map[string]gate.News {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.read) > maxRead {
		n.read = make(map[string]gate.News)
	}
	clear(n.read)
	n.heard, n.read = n.read, n.heard
	return n.read
}

// hear is what somebody published. The owner is told once that there is something to hear, however much comes until it
// looks.
func (s *Subscriber) hear(m rueidis.PubSubMessage) {
	if s.news.add(m.Channel, m.Message) {
		stall.At("subscriber: message heard, loop not told", s.cfg.Engine)
		s.cfg.Owner.Heard()
	}
}

// Hear takes what was heard. It is valid until the next call.
func (s *Subscriber) Hear() map[string]gate.News { return s.news.take() }
