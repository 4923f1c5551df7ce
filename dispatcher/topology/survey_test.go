package topology

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// invariant: command-follows-its-slot
func TestSurvey(t *testing.T) {
	due := func(t *testing.T, s *Survey, at gate.Time) {
		t.Helper()
		if s.Due(at-1) || !s.Due(at) || s.Alarm() != at {
			t.Errorf("due at %v, want %v", s.Alarm(), at)
		}
	}
	t.Run("asks nothing while nothing is wrong", func(t *testing.T) {
		if s := NewSurvey(); s.Due(gate.Centuries) || s.Alarm() != gate.Never {
			t.Errorf("due at %v", s.Alarm())
		}
	})
	t.Run("asks at once at first, and then once in surveyEvery", func(t *testing.T) {
		s := NewSurvey()
		s.Request(10 * time.Second)
		due(t, &s, 10*time.Second)
		s.Sent(10 * time.Second)
		s.Answered()
		s.Request(10*time.Second + 2)
		due(t, &s, 10*time.Second+surveyEvery)
	})
	t.Run("asks one question at a time", func(t *testing.T) {
		s := NewSurvey()
		s.SetDue(time.Second)
		s.Sent(time.Second)
		s.SetDue(time.Second + 1)
		if s.Due(time.Minute) || s.Alarm() != gate.Never {
			t.Error("due while a question is under way")
		}
		s.Answered()
		due(t, &s, time.Second+1)
	})
	t.Run("asks again after a pause when it was not answered", func(t *testing.T) {
		s := NewSurvey()
		s.SetDue(time.Second)
		s.Sent(time.Second)
		s.Failed(3 * time.Second)
		due(t, &s, 3*time.Second+surveyPause)
		s.SetDue(3 * time.Second) // a link broke
		s.SetDue(4 * time.Second)
		due(t, &s, 3*time.Second)
	})
}
