package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
)

// fingerprint is a hash of a request's method, target and body.
type fingerprint = [sha256.Size]byte

// answer is what Redis keeps of an answer, in gob's encoding, which has headers of any bytes.
type answer struct {
	Print  fingerprint
	Status int
	Header http.Header
	Body   []byte
}

// write answers a repetition.
func (a *answer) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.Header)
	w.Header().Set("Idempotency-Replayed", "true")
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // the client has left, or the status has no body
}

// store keeps answers in Redis.
type store struct {
	client rueidis.Client
	keep   time.Duration
	most   int // bytes of a body
}

// redisTime is how long a request waits for the store of an answer of so many bytes. The lock has been granted just before, so more means that Redis has gone.
func redisTime(bytes int) time.Duration {
	return time.Second + time.Duration(bytes)*time.Second/leastRate
}

// leastRate is how many bytes come and go in a second at least.
const leastRate = 8 << 20

// suffix makes the key of an answer from that of its lock.
const suffix = ":answer"

// load returns the answer that stands beside the key of a lock, or nil.
func (s store) load(ctx context.Context, lock string) (*answer, error) {
	soon, stop := context.WithTimeout(ctx, redisTime(s.most))
	defer stop()
	stored, err := s.client.Do(soon, s.client.B().Get().Key(lock+suffix).Build()).AsBytes()
	switch {
	case rueidis.IsRedisNil(err):
		return nil, nil
	case err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE"):
		return nil, fmt.Errorf("idempotency: %w: %q: %w", engine.ErrForeignKey, lock+suffix, err)
	case err != nil:
		return nil, fmt.Errorf("idempotency: %w: read the answer: %w", engine.ErrUnavailable, err)
	}
	a := new(answer)
	if err := gob.NewDecoder(bytes.NewReader(stored)).Decode(a); err != nil {
		return nil, fmt.Errorf("idempotency: %w: %q is no answer: %w", engine.ErrForeignKey, lock+suffix, err)
	}
	return a, nil
}

// guarded stores an answer if the owner still has the lock. Compare and write are one step, so a process that was paused past its
// lease does not overwrite the answer of its successor.
// KEYS[1] the lock, KEYS[2] the answer; ARGV[1] owner, ARGV[2] answer, ARGV[3] how long it stands, in ms; 1: stored, 0: the lock is lost
var guarded = rueidis.NewLuaScript(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1`)

// save stores an answer if the owner has the lock.
func (s store) save(ctx context.Context, lock, owner string, a *answer) error {
	var encoded bytes.Buffer
	if err := gob.NewEncoder(&encoded).Encode(a); err != nil {
		return err
	}
	soon, stop := context.WithTimeout(ctx, redisTime(encoded.Len()))
	defer stop()
	keep := strconv.FormatInt(s.keep.Milliseconds(), 10)
	store := func() (int64, error) {
		return guarded.Exec(soon, s.client, []string{lock, lock + suffix}, []string{owner, rueidis.BinaryString(encoded.Bytes()), keep}).AsInt64()
	}
	stored, err := store()
	for apart(err) && sleep(soon) {
		stored, err = store()
	}
	switch {
	case err != nil:
		return fmt.Errorf("store it: %w", err)
	case stored == 0:
		return fmt.Errorf("%q in Redis is not our lock: %w", lock, engine.ErrLost)
	}
	return nil
}

// apart tells that the hash slot is on its way to another node of a cluster, and lock and answer cannot be reached together until it is there.
func apart(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "TRYAGAIN") }

// sleep makes a pause; false: ctx ended.
func sleep(ctx context.Context) bool {
	select {
	case <-time.After(20 * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}
