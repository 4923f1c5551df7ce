package gate_test

import (
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/wire"
)

// The worlds write their commands as connections do.
func init() {
	gate.NewEncoder = func(uuid string, fairWaiterLease time.Duration) gate.Encoder {
		return wire.NewEncoder(wire.Settings{UUID: uuid, Publish: "PUBLISH", FairWaiterLease: fairWaiterLease})
	}
}
