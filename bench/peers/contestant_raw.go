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
		open:     func(url string) (load.Library, error) { return openRaw(url, false) },
		takes:    func(w work) bool { return w.Load == handover },
	}
	rawClaimEntry = entry{
		name:     "raw claim",
		settings: "no library: a release that gives the lock to the claim of the other, and the message, over bare TCP connections",
		lacks:    "everything but the messages: it is the least that a hand-over by wheellock can take",
		commands: []string{"subscribe"},
		open:     func(url string) (load.Library, error) { return openRaw(url, true) },
		takes:    func(w work) bool { return w.Load == handover },
	}
)

// raw is the least that a hand-over between two processes can be, over two bare TCP connections: if the release gives the lock to the claim of the
// waiter, or if the waiter asks again. It serves one caller.
type raw struct {
	claims   bool
	commands *resp.Conn
	messages *resp.Conn
	scripts  ourScripts
	listens  bool
	asked    int
}

func openRaw(url string, claims bool) (*raw, error) {
	r := &raw{claims: claims}
	var err error
	if r.commands, err = dial(url); err != nil {
		return nil, err
	}
	if r.messages, err = dial(url); err != nil {
		return nil, err
	}
	r.scripts, err = loadOurScripts(r.commands)
	return r, err
}

// Lock listens before it first asks, so no message can be missed. One left from before costs an ask in vain. Each claim is of another owner with
// another code.
func (r *raw) Lock(ctx context.Context, name string) (load.Grant, error) {
	defer context.AfterFunc(ctx, r.Close)()
	channel, owner, code := scripts.LockChannel(name), strconv.Itoa(os.Getpid()), ""
	ask := r.scripts.acquireCall(owner, name)
	if r.claims {
		r.asked++
		channel, code = scripts.Inbox(channel, owner), fmt.Sprintf("1%07d%010d", os.Getpid(), r.asked)
		owner = fmt.Sprintf("%s:%d", owner, r.asked)
		ask = r.scripts.acquireInLineCall(owner, code, name)
	}
	if err := r.listen(channel); err != nil {
		return nil, err
	}
	for given := false; !given; {
		answer := r.commands.Do(ask...)
		if err := answer.Err(); err != nil {
			return nil, err
		}
		if taken(answer) {
			break
		}
		var err error
		if given, err = r.given(code); err != nil {
			return nil, err
		}
	}
	return rawHold{r, owner, name}, nil
}

// given waits for a message, and reports whether it says that the lock was given to the claim with this code. If not, the lock is free.
func (r *raw) given(code string) (bool, error) {
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

// listen subscribes to a channel, once: there is one name.
func (r *raw) listen(channel string) error {
	if r.listens {
		return nil
	}
	r.listens = true
	return r.messages.Do("SUBSCRIBE", channel).Err()
}

// Close also wakes a Lock that waits for a message.
func (r *raw) Close() {
	r.commands.Close()
	r.messages.Close()
}

type rawHold struct {
	*raw
	owner, name string
}

func (h rawHold) Unlock(context.Context) error {
	answer := h.commands.Do(h.scripts.releaseCall(h.owner, h.name)...)
	if answer.Err() == nil && !freed(answer) {
		return fmt.Errorf("release answered %v", answer)
	}
	return answer.Err()
}
