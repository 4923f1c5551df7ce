package faults_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// Invariant: what stands at a name's key, whatever it is and however large, fails the calls about that name alone. All
// questions of an engine share a connection, which must not end for an answer that is too large to be one of ours.
func TestForeignKeysOfAnySizeCutNoConnection(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	server.MustDo("SET", "text", strings.Repeat("x", 2<<20))
	server.MustDo("HSET", "field", strings.Repeat("x", 2<<20), "1")
	fill := "for i = 1, ARGV[1] do redis.call('HSET', KEYS[1], string.rep('f', 4088) .. string.format('%08d', i), string.rep('v', 4096)) end"
	server.MustDo("EVAL", fill, "1", "hash", "1000")
	server.MustDo("EVAL", fill, "1", "largest", "512")
	server.MustDo("HSET", "far", "java:1", "1")
	server.MustDo("PEXPIREAT", "far", "9223372036854775807")
	server.MustDo("HSET", "fenced", "java:1", "1")
	server.MustDo("SET", "redisson_lock_token:{fenced}", "9223372036854775807")
	connections := server.CommandCounts()["hello"]
	inspect := func(m *engine.Mutex) error {
		_, err := m.Inspect(testkit.Soon(t))
		return err
	}
	for what, tt := range map[string]struct {
		err  error
		want error
	}{
		"Available of a large text":      {second(e.Semaphore("text").Available(testkit.Soon(t))), engine.ErrForeignKey},
		"Count of a large text":          {second(e.CountDownLatch("text").Count(testkit.Soon(t))), engine.ErrForeignKey},
		"Inspect of a large text":        {inspect(e.Mutex("text")), engine.ErrForeignKey},
		"Inspect of a large field":       {inspect(e.Mutex("field")), engine.ErrForeignKey},
		"Inspect of a large hash":        {inspect(e.Mutex("hash")), engine.ErrForeignKey},
		"Inspect of the largest answer":  {inspect(e.Mutex("largest")), nil},
		"Inspect of a lease without end": {inspect(e.Mutex("far")), nil},
		"Inspect of a token beyond all":  {inspect(e.FencedMutex("fenced")), nil},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", what, tt.err, tt.want)
		}
	}
	if again := server.CommandCounts()["hello"] - connections; again > 0 {
		t.Errorf("%d connections had to be made again", again)
	}
}

func second[T any](_ T, err error) error { return err }
