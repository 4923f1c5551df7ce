package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// TestOpenRefusesACluster: one call with many names would not fit on one node.
func TestOpenRefusesACluster(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, 0)
	e, err := engine.Open(context.Background(), engine.Options{Redis: rueidis.ClientOption{InitAddress: cluster.Addrs()}})
	if err == nil {
		e.Close()
	}
	if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "Cluster") {
		t.Errorf("Open = %v, want ErrInvalid that names the cluster", err)
	}
}
