package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/resp"
	"github.com/wheellock/wheellock/scripts"
)

var (
	rawSequenceEntry = entry{
		name:     "raw messages",
		settings: "no library: release, the message to a subscribed connection, acquire, over bare TCP connections",
		lacks:    "everything but the messages: it is the least that a hand-over takes that asks again",
		commands: []string{"subscribe"},
		open:     openRaw(func(r *rawConnections) load.Library { return &rawSequence{*r} }),
		takes:    func(w work) bool { return w.Load == handover },
	}
	rawClaimEntry = entry{
		name:     "raw claim",
		settings: "no library: a release that gives the lock to the claim of the other, and the message, over bare TCP connections",
		lacks:    "everything but the messages: it is the least that a hand-over by wheellock can take",
		commands: []string{"subscribe"},
		open:     openRaw(func(r *rawConnections) load.Library { return &rawClaim{rawConnections: *r} }),
		takes:    func(w work) bool { return w.Load == handover },
	}
)

// rawSequence is the least that a hand-over between two processes can be if the waiter asks again. It serves one caller.
type rawSequence struct{ rawConnections }

// Lock listens before it first asks, so no message can be missed. One left from before costs an ask in vain.
func (r *rawSequence) Lock(ctx context.Context, name string) (load.Grant, error) {
	defer context.AfterFunc(ctx, r.Close)()
	if err := r.listen(scripts.LockChannel(name)); err != nil {
		return nil, err
	}
	owner := strconv.Itoa(os.Getpid())
	for {
		answer := r.commands.Do(r.scripts.acquireCall(owner, name)...)
		if err := answer.Err(); err != nil {
			return nil, err
		}
		if taken(answer) {
			break
		}
		if err := r.messages.Read().Err(); err != nil {
			return nil, err
		}
	}
	return rawHold{&r.rawConnections, owner, name}, nil
}

// rawClaim is the least that a hand-over between two processes can be if the release gives the lock to the waiter. It serves one
// caller.
type rawClaim struct {
	rawConnections
	asked int
}

// Lock listens before it first asks, as rawSequence does. Each ask is of another owner with another code.
func (r *rawClaim) Lock(ctx context.Context, name string) (load.Grant, error) {
	defer context.AfterFunc(ctx, r.Close)()
	if err := r.listen(scripts.Inbox(scripts.LockChannel(name), strconv.Itoa(os.Getpid()))); err != nil {
		return nil, err
	}
	r.asked++
	owner, code := fmt.Sprintf("%d:%d", os.Getpid(), r.asked), fmt.Sprintf("1%07d%010d", os.Getpid(), r.asked)
	for {
		answer := r.commands.Do(r.scripts.acquireInLineCall(owner, code, name)...)
		if err := answer.Err(); err != nil {
			return nil, err
		}
		if taken(answer) {
			break
		}
		given, err := r.given(code)
		if err != nil {
			return nil, err
		}
		if given {
			break
		}
	}
	return rawHold{&r.rawConnections, owner, name}, nil
}

// given waits for a message, and reports whether it says that the lock was given to us. If not, the lock is free.
func (r *rawClaim) given(code string) (bool, error) {
	for {
		message := r.messages.Read()
		if err := message.Err(); err != nil {
			return false, err
		}
		switch message.Items[len(message.Items)-1].Text {
		case "-" + code:
			return true, nil
		case "0", "1":
			return false, nil
		} // another code was for an earlier ask
	}
}

// rawConnections are two bare TCP connections, for commands and for messages.
type rawConnections struct {
	commands *resp.Conn
	messages *resp.Conn
	scripts  ourScripts
	listens  bool
}

// openRaw opens what is made of two connections.
func openRaw(of func(*rawConnections) load.Library) func(string) (load.Library, error) {
	return func(url string) (load.Library, error) {
		r := &rawConnections{}
		var err error
		if r.commands, err = dial(url); err != nil {
			return nil, err
		}
		if r.messages, err = dial(url); err != nil {
			return nil, err
		}
		r.scripts, err = loadOurScripts(r.commands)
		return of(r), err
	}
}

// listen subscribes to a channel, once: there is one name.
func (r *rawConnections) listen(channel string) error {
	if r.listens {
		return nil
	}
	r.listens = true
	return r.messages.Do("SUBSCRIBE", channel).Err()
}

// Close also wakes a Lock that waits for a message.
func (r *rawConnections) Close() {
	r.commands.Close()
	r.messages.Close()
}

type rawHold struct {
	*rawConnections
	owner, name string
}

func (h rawHold) Unlock(context.Context) error {
	answer := h.commands.Do(h.scripts.releaseCall(h.owner, h.name)...)
	if answer.Err() == nil && !freed(answer) {
		return fmt.Errorf("release answered %v", answer)
	}
	return answer.Err()
}
