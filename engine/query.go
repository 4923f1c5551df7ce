package engine

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/scripts"
)

// The scripts of queries. Their texts are sent once.
var (
	countScript       = rueidis.NewLuaScript(scripts.Count.Text)
	permitCountScript = rueidis.NewLuaScript(scripts.PermitCount.Text)
	leaderScript      = rueidis.NewLuaScript(scripts.Leader.Text)
)

// count reads the integer at the name's key without the dispatcher; 0 if there is none. It uses a script, because a key
// of another type may have a value of any size.
func (o *operation) count(ctx context.Context) (int64, error) {
	counts, err := o.counts(ctx, countScript, 1, func(key string) (keys, args []string) { return []string{key}, nil })
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// counts are the n numbers that a script tells of the name.
func (o *operation) counts(ctx context.Context, script *rueidis.Lua, n int, of func(key string) (keys, args []string)) ([]int64, error) {
	parts, err := query(ctx, o, script, of, rueidis.RedisResult.AsIntSlice)
	if err != nil {
		return nil, err
	}
	if len(parts) != 1+n {
		return nil, o.unread(nil)
	}
	return parts[1:], o.faulty(parts[0])
}

// faulty returns the error of a script's reply code; nil: none.
func (o *operation) faulty(code int64) error {
	fault := scripts.Reply(code).Fault()
	if fault == scripts.None {
		return nil
	}
	sentinel := ErrRefused
	if _, foreign := fault.Foreign(); foreign {
		sentinel = ErrForeignKey
	}
	return &opError{doing: o.doing, name: o.name, err: sentinel, words: fault.String(), passes: fault.Passing()}
}

// errUnanswered is why the context of a query ends when AnswerTimeout is over.
var errUnanswered = errors.New("wheellock: not answered in time")

// query runs one script about the name without the dispatcher, and reads its reply; of says its keys and arguments. The answer may be
// older than that of a call that has returned meanwhile.
func query[T any](ctx context.Context, t *operation, script *rueidis.Lua, of func(key string) (keys, args []string), read func(rueidis.RedisResult) (T, error)) (none T, err error) {
	key, err := t.key()
	if err != nil {
		return none, err
	}
	keys, args := of(key)
	return direct(ctx, t, func(c rueidis.Client) (T, error) { return read(script.Exec(context.Background(), c, keys, args)) })
}

// direct asks Redis without the dispatcher. The error is one of t if Redis does not answer, or not in time.
func direct[T any](ctx context.Context, t *operation, ask func(rueidis.Client) (T, error)) (none T, err error) {
	if ctx.Err() != nil {
		return none, t.failed(endedBy(ctx))
	}
	if !t.e.enter() {
		return none, t.failed(ErrClosed)
	}
	began := time.Now()
	if within := t.e.answerTime(ctx); within > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, within, errUnanswered)
		defer stop()
	}
	// A caller's context never reaches the client: its deadline would be put on the shared connection.
	value, err := await(ctx, func() (T, error) {
		defer t.e.leave()
		value, err := ask(t.e.client)
		return value, rediserr.Silent(err, cmp.Or(topology.MasterOf(t.e.client), strings.Join(t.e.opts.Redis.InitAddress, ", ")), time.Since(began))
	}, func(T) {})
	switch {
	case err == nil:
		return value, nil
	case ctx.Err() == nil:
		return none, t.unread(err)
	case context.Cause(ctx) == errUnanswered:
		return none, errorOf(t.doing, t.name, gate.Unanswered)
	default:
		return none, t.failed(endedBy(ctx))
	}
}

// unread is a query that Redis did not answer.
func (o *operation) unread(err error) error {
	v := rediserr.Judge(err)
	if v.Fault == scripts.AnotherType {
		return o.failed(ErrForeignKey)
	}
	passes := v.Result == gate.Again || topology.IsRedirect(v.Message)
	return &opError{doing: o.doing, name: o.name, err: sentinels[rediserr.Explain(err)], words: v.Message, passes: passes}
}
