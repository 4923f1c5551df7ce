package gate

import (
	"fmt"
	"testing"
	"time"
)

// Invariant: at the end everybody who waits for an answer is answered. A force-unlock that was not sent, or whose answer
// has not come, is no exception.
func TestEndAnswersForceUnlock(t *testing.T) {
	for _, kind := range []Kind{MutexKind, FencedKind, SpinKind, SimpleKind, FairKind, RWKind} {
		for _, other := range []bool{false, true} {
			t.Run(fmt.Sprintf("kind %d, behind another %t", kind, other), func(t *testing.T) {
				c := NewEntry("stock:7", kind, &Config{LeaseTime: time.Second, PollCap: 2 * time.Second, Stats: &Stats{}, UUID: "A", Codes: plainCodes{}, Doubts: true})
				fx, ack := &Effects{}, &answers{}
				if other {
					c.Machine.(*Lock).Force(0, "java:0", 0, nil, fx)
				}
				c.Machine.(*Lock).Force(0, "java:1", 0, ack, fx)
				c.Machine.Close(0, fx)
				c.Machine.Wake(Centuries, fx)
				if len(ack.out) != 1 || ack.out[0].Why != Closed {
					t.Errorf("answered %+v", ack.out)
				}
			})
		}
	}
}
