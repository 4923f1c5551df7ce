package subscriber

import (
	"strconv"
	"sync"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/wheel/stall"
)

// news sums up, by channel, the messages since the loop last took them. So a flood of messages takes memory for the subscribed
// channels only.
type news struct {
	mu           sync.Mutex // guards the rest; held for one entry or a swap
	unread, read map[string]gate.News
}

// maxRead is how many channels an emptied map may have had that is used again.
const maxRead = 8192

func newNews() news {
	return news{unread: make(map[string]gate.News), read: make(map[string]gate.News)}
}

// add records a message; first reports whether it is the first since the last take.
func (n *news) add(channel, message string) (first bool) {
	said, err := strconv.ParseInt(message, 10, 64)
	if err != nil { // not Redisson's; news all the same
		said = 1
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	first = len(n.unread) == 0
	news := n.unread[channel]
	news.Add(said)
	n.unread[channel] = news
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
	n.unread, n.read = n.read, n.unread
	return n.read
}

// received handles a message. The owner is notified once, however many messages arrive until it takes them.
func (s *Subscriber) received(m rueidis.PubSubMessage) {
	if s.news.add(m.Channel, m.Message) {
		stall.At("subscriber: message heard, loop not told", s.cfg.Engine)
		s.cfg.Owner.Received()
	}
}

// Take returns the messages since the last call. The map is valid until the next call.
func (s *Subscriber) Take() map[string]gate.News { return s.news.take() }
