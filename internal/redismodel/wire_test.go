package redismodel

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// wire is a connection to a server, in RESP2, that sends many commands at once.
type wire struct {
	testing.TB
	conn *resp.Conn
}

func dialWire(tb testing.TB, addr string) *wire {
	tb.Helper()
	conn, err := resp.Dial("tcp", addr, "", "", time.Minute)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() }) // nothing is left to lose on it
	return &wire{tb, conn}
}

// pipe sends commands and gives their answers.
func (w *wire) pipe(commands ...[]string) []Value {
	w.Helper()
	w.send(commands...)
	answers := make([]Value, len(commands))
	for i := range answers {
		answers[i] = w.read()
	}
	return answers
}

func (w *wire) send(commands ...[]string) {
	w.Helper()
	if err := w.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		w.Fatal(err)
	}
	for _, command := range commands {
		w.conn.Queue(command...)
	}
	if err := w.conn.Flush(); err != nil {
		w.Fatal(err)
	}
}

// read reads one answer.
func (w *wire) read() Value {
	w.Helper()
	reply := w.conn.Read()
	if err := reply.Lost(); err != nil {
		w.Fatal(err)
	}
	return valueOf(reply)
}

func valueOf(reply resp.Reply) Value {
	switch {
	case reply.Nil:
		return null
	case reply.Kind == '+':
		return Value{Kind: Status, Str: reply.Text}
	case reply.Kind == '-':
		return failure(reply.Text)
	case reply.Kind == ':':
		return integer(reply.Int)
	case reply.Kind == '$':
		return text(reply.Text)
	}
	list := Value{Kind: Array}
	for _, item := range reply.Items {
		list.Array = append(list.Array, valueOf(item))
	}
	return list
}
