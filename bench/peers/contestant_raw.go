package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/wheellock/wheellock/internal/testkit/resp"
	"github.com/wheellock/wheellock/scripts"
)

var rawSequenceEntry = entry{
	name: "raw messages",
	settings: "no library: release, the message to a subscribed connection, acquire; wheellock's scripts of a plain mutex, " +
		"whatever the kind of lock, over bare TCP connections",
	lacks:    "everything but the messages: it is the floor of a hand-over",
	color:    grey,
	commands: []string{"subscribe"},
	open:     func(work) Contestant { return &rawSequence{} },
	takes:    func(w work) bool { return w.Load == handover },
}

// rawSequence is the least that a hand-over between two processes can be. It serves one caller.
type rawSequence struct {
	commands *resp.Conn
	messages *resp.Conn
	scripts  ourScripts
	owner    string
	listens  bool
}

func (r *rawSequence) Open(url string) (err error) {
	if r.commands, err = dial(url); err != nil {
		return err
	}
	if r.messages, err = dial(url); err != nil {
		return err
	}
	r.owner = strconv.Itoa(os.Getpid())
	r.scripts, err = loadOurScripts(r.commands)
	return err
}

// Pair listens before it first asks, so no message can be missed. One left from before costs an ask in vain.
func (r *rawSequence) Pair(ctx context.Context, name string, inside func()) error {
	unblock := context.AfterFunc(ctx, r.Close)
	defer unblock()
	if !r.listens {
		if err := r.messages.Do("SUBSCRIBE", scripts.LockChannel(name)).Err(); err != nil {
			return err
		}
		r.listens = true
	}
	for {
		answer := r.commands.Do(r.scripts.acquireCall(r.owner, name)...)
		if err := answer.Err(); err != nil {
			return err
		}
		if taken(answer) {
			break
		}
		if err := r.messages.Read().Err(); err != nil {
			return err
		}
	}
	inside()
	answer := r.commands.Do(r.scripts.releaseCall(r.owner, name)...)
	if answer.Err() == nil && !freed(answer) {
		return fmt.Errorf("release answered %v", answer)
	}
	return answer.Err()
}

// Close also wakes a Pair that waits for a message.
func (r *rawSequence) Close() {
	r.commands.Close()
	r.messages.Close()
}
