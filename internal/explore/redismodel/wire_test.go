package redismodel

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wire is a connection to a server, in RESP2, that sends many commands at once.
type wire struct {
	testing.TB
	conn net.Conn
	in   *bufio.Reader
	out  []byte
}

func dialWire(tb testing.TB, addr string) *wire {
	tb.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() }) // nothing is left to lose on it
	return &wire{TB: tb, conn: conn, in: bufio.NewReader(conn)}
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
	w.out = w.out[:0]
	for _, command := range commands {
		w.out = fmt.Appendf(w.out, "*%d\r\n", len(command))
		for _, word := range command {
			w.out = fmt.Appendf(w.out, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	if err := w.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		w.Fatal(err)
	}
	if _, err := w.conn.Write(w.out); err != nil {
		w.Fatal(err)
	}
}

// read reads one answer.
func (w *wire) read() Value {
	w.Helper()
	v, err := w.answer()
	if err != nil {
		w.Fatal(err)
	}
	return v
}

func (w *wire) answer() (v Value, err error) {
	line, err := w.in.ReadString('\n')
	if err != nil {
		return v, err
	}
	sign, rest := line[0], strings.TrimRight(line[1:], "\r\n")
	switch sign {
	case '+':
		return Value{Kind: Status, Str: rest}, nil
	case '-':
		return failure(rest), nil
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case err != nil || sign == ':':
		return integer(n), err
	case n < 0:
		return null, nil
	case sign == '$':
		bytes := make([]byte, n+2)
		_, err = io.ReadFull(w.in, bytes)
		return text(string(bytes[:n])), err
	}
	v.Kind = Array
	for range n {
		item, err := w.answer()
		if err != nil {
			return v, err
		}
		v.Array = append(v.Array, item)
	}
	return v, nil
}
