package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/scripts"
)

// count reads the integer at the name's key without the dispatcher; 0 if there is none. It uses a script, because a key
// of another type may have a value of any size.
func (t *operation) count(ctx context.Context) (int64, error) {
	r, err := t.query(ctx, func(b rueidis.Builder, key string) rueidis.Completed {
		return b.Eval().Script(scripts.Count.Text).Numkeys(1).Key(key).Build()
	})
	if err != nil {
		return 0, err
	}
	parts, err := r.AsIntSlice()
	if err != nil || len(parts) != 2 {
		return 0, t.unread(err)
	}
	return parts[1], t.faulty(parts[0])
}

// faulty returns the error of a script's reply code; nil: none.
func (t *operation) faulty(code int64) error {
	fault := scripts.Reply(code).Fault()
	if fault == scripts.None {
		return nil
	}
	sentinel := ErrRefused
	if _, foreign := fault.Foreign(); foreign {
		sentinel = ErrForeignKey
	}
	return &opError{doing: t.doing, name: t.name, err: sentinel, words: fault.String()}
}

// errUnanswered is why the context of a query ends when AnswerTimeout is over.
var errUnanswered = errors.New("wheellock: not answered in time")

// query runs one read-only command without the dispatcher. Its answer may be older than that of a call that has returned meanwhile.
func (t *operation) query(ctx context.Context, build func(rueidis.Builder, string) rueidis.Completed) (rueidis.RedisResult, error) {
	key, err := t.e.key(t.name, t.kind.machine())
	if err != nil {
		return rueidis.RedisResult{}, t.failed(err)
	}
	if ctx.Err() != nil {
		return rueidis.RedisResult{}, t.failed(endedBy(ctx))
	}
	if !t.e.enter() {
		return rueidis.RedisResult{}, t.failed(ErrClosed)
	}
	// A caller's context never reaches the client: its deadline would be put on the shared connection.
	answer := make(chan rueidis.RedisResult, 1)
	go func() {
		defer t.e.leave()
		answer <- t.e.client.Do(context.Background(), build(t.e.client.B(), key))
	}()
	if within := t.e.answerTime(ctx); within > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, within, errUnanswered)
		defer stop()
	}
	select {
	case r := <-answer:
		return r, nil
	case <-ctx.Done():
		if context.Cause(ctx) == errUnanswered {
			return rueidis.RedisResult{}, errorOf(t.doing, t.name, gate.Unanswered)
		}
		return rueidis.RedisResult{}, t.failed(endedBy(ctx))
	}
}

// unread is a query that Redis did not answer.
func (t *operation) unread(err error) error {
	words, _ := rediserr.Said(err)
	if strings.HasPrefix(words, "WRONGTYPE") {
		return t.failed(ErrForeignKey)
	}
	return &opError{doing: t.doing, name: t.name, err: sentinels[rediserr.Explain(err)], words: words}
}
