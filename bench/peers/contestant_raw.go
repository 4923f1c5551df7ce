package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/wheellock/wheellock/scripts"
)

var rawSequenceEntry = entry{
	name:     "raw messages",
	settings: "no library: release, the message to a subscribed connection, acquire; wheellock's scripts over bare TCP connections",
	lacks:    "everything but the messages: it is the floor of a hand-over",
	color:    grey,
	commands: []string{"subscribe"},
	open:     func() Contestant { return &rawSequence{} },
	takes:    func(w work) bool { return w.Load == handover },
}

// rawSequence is the least that a hand-over between two processes can be. It serves one caller.
type rawSequence struct {
	commands *wire
	messages *wire
	scripts  ourScripts
	owner    string
	listens  bool
}

func (r *rawSequence) Name() string { return rawSequenceEntry.name }

func (r *rawSequence) Open(url string) (err error) {
	if r.commands, err = dialWire(url); err != nil {
		return err
	}
	if r.messages, err = dialWire(url); err != nil {
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
		if _, err := r.messages.do("SUBSCRIBE", scripts.LockChannel(name)); err != nil {
			return err
		}
		r.listens = true
	}
	for {
		answer, err := r.commands.do(r.scripts.acquireCall(r.owner, name)...)
		if err != nil {
			return err
		}
		if taken(answer) {
			break
		}
		if _, err := r.messages.read(); err != nil {
			return err
		}
	}
	inside()
	answer, err := r.commands.do(r.scripts.releaseCall(r.owner, name)...)
	if err == nil && !freed(answer) {
		return fmt.Errorf("release answered %d", answer.number)
	}
	return err
}

// Close also wakes a Pair that waits for a message.
func (r *rawSequence) Close() {
	r.commands.close()
	r.messages.close()
}
