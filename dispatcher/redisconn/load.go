package redisconn

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/wire"
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/wheel"
)

// Loaded is what Load learned.
type Loaded struct {
	digests      [gate.Ops]string
	serverMillis int64
	at           gate.Time
}

// Load brings the scripts to the server and asks for its time. The error says which right is missing.
func Load(ctx context.Context, client rueidis.CoreClient, clock *wheel.Clock) (*Loaded, error) {
	loaded := &Loaded{}
	commands := rueidis.Commands{client.B().Time().Build()}
	for op := range gate.Op(gate.Ops) {
		if s := wire.Script(op); s != nil {
			commands = append(commands, client.B().ScriptLoad().Script(s.Text).Build())
		}
	}
	results := client.DoMulti(ctx, commands...)
	loaded.at = clock.Now()
	millis, err := serverMillis(results[0])
	if err != nil {
		return nil, fmt.Errorf("TIME: %w", err)
	}
	loaded.serverMillis = millis
	results = results[1:]
	for op := range gate.Op(gate.Ops) {
		if wire.Script(op) == nil {
			continue
		}
		if loaded.digests[op], err = results[0].ToString(); err != nil {
			return nil, fmt.Errorf("SCRIPT LOAD: %w", err)
		}
		results = results[1:]
	}
	return loaded, nil
}

// serverMillis reads the answer to TIME.
func serverMillis(r rueidis.RedisResult) (int64, error) {
	parts, err := r.AsIntSlice()
	if err != nil {
		return 0, err
	}
	if len(parts) != 2 {
		return 0, fmt.Errorf("TIME answered %d values", len(parts))
	}
	return parts[0]*1000 + parts[1]/1000, nil
}
