package view

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// replica says that the server is a replica, and of which master, as far as this user may know that; empty: it is a master. down: the
// replica is not connected to the master.
func (r *redis) replica(ctx context.Context) (says string, down bool) {
	if r.Mode() != rueidis.ClientModeStandalone { // else the masters are known
		return "", false
	}
	info, _ := r.Do(ctx, r.B().Info().Section("replication").Build()).ToString()
	if facts := resp.InfoFields(info); facts["role"] == "slave" {
		return "the server is a replica of " + net.JoinHostPort(facts["master_host"], facts["master_port"]), facts["master_link_status"] == "down"
	}
	hello, _ := r.Do(ctx, r.B().Arbitrary("HELLO").Build()).AsMap() // to which everybody has the right, since 6.2
	role := hello["role"]
	if named, _ := role.ToString(); named != "replica" {
		return "", false
	}
	return "the server is a replica", false
}

// behind is an error of a replica that is not connected to its master. Of another replica note tells.
func (r *redis) behind(ctx context.Context, note func(format string, args ...any)) error {
	says, down := r.replica(ctx)
	switch {
	case down:
		return unavailable(fmt.Errorf("%s, and not connected to it: what is held now is not known here. Ask the master", says))
	case says != "":
		note("%s, and may be behind it", says)
	}
	return nil
}

// takesWrites is an error of a replica.
func (r *redis) takesWrites(ctx context.Context) error {
	if says, _ := r.replica(ctx); says != "" {
		return unavailable(errors.New(says + ", which frees no lock: name the master with --redis"))
	}
	return nil
}
