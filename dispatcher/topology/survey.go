package topology

import (
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// Survey is the schedule by which nodes of a cluster are asked for their maps: when a hash slot was found at another
// node, when a link broke, and while anything fails. One question is under way at a time. The loop owns it.
type Survey struct {
	dueAt gate.Time // Never: nothing is known to be wrong
	sent  gate.Time // the last question
	away  bool
}

const (
	// surveyPause is between two questions while something fails: a failover takes a second at least.
	surveyPause = 250 * time.Millisecond
	// surveyEvery is between two questions while hash slots move: the node of each requested slot is learned from its redirect.
	surveyEvery = time.Second
)

// NewSurvey returns a schedule with nothing to ask.
func NewSurvey() Survey { return Survey{dueAt: gate.Never} }

// SetDue makes the next question due at that time at the latest.
func (s *Survey) SetDue(at gate.Time) { s.dueAt = min(s.dueAt, at) }

// Request makes a question due, but not right after the last one.
func (s *Survey) Request(now gate.Time) { s.SetDue(max(now, s.sent+surveyEvery)) }

// Retry makes a question due after a pause, because something still fails.
func (s *Survey) Retry(now gate.Time) { s.SetDue(now + surveyPause) }

// Due reports whether a question is to be sent now.
func (s *Survey) Due(now gate.Time) bool { return !s.away && now >= s.dueAt }

// Alarm is when the loop is to look again; Never while a question is under way, for its answer wakes the loop.
func (s *Survey) Alarm() gate.Time {
	if s.away {
		return gate.Never
	}
	return s.dueAt
}

// Sent notes that a question was sent.
func (s *Survey) Sent(now gate.Time) { s.away, s.sent, s.dueAt = true, now, gate.Never }

// Failed notes that the question was not answered.
func (s *Survey) Failed(now gate.Time) {
	s.away = false
	s.Retry(now)
}

// Answered notes that the question was answered.
func (s *Survey) Answered() { s.away = false }
