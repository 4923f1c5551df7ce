package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/contrib/internal/guarded"
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

// save stores an answer if in Redis the lock is that of hold.
func (s store) save(ctx context.Context, hold *engine.Hold, lock string, a *answer) error {
	var encoded bytes.Buffer
	if err := gob.NewEncoder(&encoded).Encode(a); err != nil {
		return err
	}
	soon, stop := context.WithTimeout(ctx, redisTime(encoded.Len()))
	defer stop()
	stored, err := guarded.Set(soon, s.client, hold, lock, lock+suffix, encoded.Bytes(), s.keep)
	switch {
	case err != nil:
		return fmt.Errorf("store it: %w", err)
	case !stored:
		return fmt.Errorf("%q in Redis is not our lock: %w", lock, engine.ErrLost)
	}
	return nil
}
