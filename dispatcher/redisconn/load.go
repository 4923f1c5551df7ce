package redisconn

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/wire"
	"github.com/wheellock/wheellock/wheel"
)

// Loaded is what Load learned.
type Loaded struct {
	serverMillis int64
	at           gate.Time
}

// digests are what Redis calls the scripts. A program that opens no engine does not pay the millisecond that they take.
var digests = sync.OnceValue(func() *[gate.Ops]string {
	var all [gate.Ops]string
	for op, script := range wire.Scripts {
		sum := sha1.Sum([]byte(script.Text))
		all[op] = hex.EncodeToString(sum[:])
	}
	return &all
})

// Load brings the scripts to the server and asks for its time. The error says which right is missing.
func Load(ctx context.Context, client rueidis.CoreClient, clock *wheel.Clock) (*Loaded, error) {
	loaded := &Loaded{}
	commands := rueidis.Commands{client.B().Time().Build()}
	for _, s := range wire.Scripts {
		commands = append(commands, client.B().ScriptLoad().Script(s.Text).Build())
	}
	results := client.DoMulti(ctx, commands...)
	loaded.at = clock.Now()
	millis, err := serverMillis(results[0])
	if err != nil {
		return nil, refused("TIME", err)
	}
	loaded.serverMillis = millis
	for _, result := range results[1:] {
		if err := result.Error(); err != nil {
			return nil, refused("SCRIPT LOAD", err)
		}
	}
	return loaded, nil
}

// refused is err with the command that the server refused, if it did.
func refused(command string, err error) error {
	if _, said := rediserr.Said(err); !said {
		return err
	}
	return fmt.Errorf("%s: %w", command, err)
}

// serverMillis reads the answer to TIME.
func serverMillis(r rueidis.RedisResult) (int64, error) {
	micros, err := ServerMicros(r)
	return micros / 1000, err
}

// ServerMicros reads the answer to TIME, in µs since 1970.
func ServerMicros(r rueidis.RedisResult) (int64, error) {
	parts, err := r.AsIntSlice()
	if err != nil {
		return 0, err
	}
	if len(parts) != 2 {
		return 0, fmt.Errorf("TIME answered %d values", len(parts))
	}
	return parts[0]*1e6 + parts[1], nil
}
