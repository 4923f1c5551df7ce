package engine

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine/internal/leaders"
	"github.com/wheellock/wheellock/scripts"
)

func init() {
	leaders.Ask = func(ctx context.Context, e any, name string, note *leaders.Note) (leaders.Note, bool, error) {
		t := operation{e: e.(*Engine), name: name, doing: "elect", kind: fencedIndex}
		leader, err := t.leader(ctx, note)
		return leader, errors.Is(err, errPasses) || errors.Is(err, ErrUncertain) || errors.Is(err, ErrNotSent), err
	}
	leaders.Listen = func(ctx context.Context, e any, name string, notify func()) (passes bool, err error) {
		t := operation{e: e.(*Engine), name: name, doing: "observe", kind: fencedIndex}
		err = t.listen(ctx, notify)
		return errors.Is(err, errPasses), err
	}
}

// leader asks for the leader, after the note is written if there is one.
func (o *operation) leader(ctx context.Context, note *leaders.Note) (leaders.Note, error) {
	parts, err := query(ctx, o, leaderScript, func(key string) (keys, args []string) {
		if note != nil {
			args = []string{o.e.opts.PubSub.publish(), scripts.LeaderChannel(key), note.Owner, strconv.FormatInt(note.Term, 10), note.Identity}
		}
		return []string{key, scripts.LeaderKey(key)}, args
	}, rueidis.RedisResult.ToArray)
	if err == nil && len(parts) == 0 {
		err = o.unread(nil)
	}
	if err != nil {
		return leaders.Note{}, err
	}
	code, _ := parts[0].AsInt64()
	if err := o.faulty(code); err != nil || len(parts) < 4 {
		return leaders.Note{}, err
	}
	term, bad := parts[1].AsInt64()
	identity, badder := parts[2].ToString()
	millis, worst := parts[3].AsInt64()
	if err := errors.Join(bad, badder, worst); err != nil {
		return leaders.Note{}, &opError{doing: o.doing, name: o.name, err: ErrForeignKey}
	}
	return leaders.Note{Term: term, Identity: identity, Since: time.UnixMilli(millis)}, nil
}

// listen hears of new leaders until its connection breaks, or until the node that it listens to does not serve the channel any more.
// The connection is its own: a flood of messages must not delay answers.
func (o *operation) listen(ctx context.Context, received func()) error {
	key, err := o.key()
	if err != nil {
		return err
	}
	if !o.e.enter() {
		return o.failed(ErrClosed)
	}
	defer o.e.leave()
	conn, release := o.e.client.Dedicate()
	defer release()
	defer conn.Close()
	moved := make(chan struct{})
	over := sync.OnceFunc(func() { close(moved) }) // a server may say so twice
	broke := conn.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(rueidis.PubSubMessage) { received() },
		OnSubscription: func(s rueidis.PubSubSubscription) {
			if s.Kind == "sunsubscribe" { // the only one there is
				over()
			}
		},
	})
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(o.e.closing, stop)()
	defer context.AfterFunc(ctx, conn.Close)() // cuts a stuck call
	channel, how := scripts.LeaderChannel(key), o.e.opts.PubSub.publish()
	if how != "PUBLISH" { // first: in a cluster it chooses the node, and any node has the other messages
		err = conn.Do(context.Background(), conn.B().Ssubscribe().Channel(channel).Build()).Error()
	}
	if how != "SPUBLISH" && err == nil {
		err = conn.Do(context.Background(), conn.B().Subscribe().Channel(channel).Build()).Error()
	}
	if err != nil {
		return o.unread(err)
	}
	received() // what was published before is lost
	select {
	case <-ctx.Done():
		return nil
	case err := <-broke:
		return err
	case <-moved:
		return nil
	}
}
