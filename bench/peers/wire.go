package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
)

// wire is a bare connection to Redis, RESP version 2. It belongs to one goroutine, or to one that sends and one
// that reads. It is what a client library costs nothing over: the ceiling and the raw sequence use it.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
	out  *bufio.Writer
}

func dialWire(address string) (*wire, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return nil, err
	}
	return &wire{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), out: bufio.NewWriterSize(conn, 64<<10)}, nil
}

// reply is one answer: an integer, or text, or a list.
type reply struct {
	kind   byte // the RESP type: + - : $ *
	number int64
	text   string
	list   []reply
}

// do sends one command and waits for its answer; an error reply is an error.
func (w *wire) do(words ...string) (reply, error) {
	w.queue(words...)
	if err := w.out.Flush(); err != nil {
		return reply{}, err
	}
	return w.read()
}

// queue writes a command into the buffer. Errors stay in the buffer until the flush.
func (w *wire) queue(words ...string) {
	w.out.Write(appendCommand(w.out.AvailableBuffer(), words...))
}

func appendCommand(to []byte, words ...string) []byte {
	to = append(strconv.AppendInt(append(to, '*'), int64(len(words)), 10), "\r\n"...)
	for _, word := range words {
		to = append(strconv.AppendInt(append(to, '$'), int64(len(word)), 10), "\r\n"...)
		to = append(append(to, word...), "\r\n"...)
	}
	return to
}

// read takes the next answer. Errors of Redis come back as error.
func (w *wire) read() (reply, error) {
	line, err := w.in.ReadSlice('\n')
	if err != nil {
		return reply{}, err
	}
	if len(line) < 3 {
		return reply{}, fmt.Errorf("not an answer of Redis: %q", line)
	}
	r, rest := reply{kind: line[0]}, line[1:len(line)-2]
	switch r.kind {
	case '+':
		r.text = string(rest)
		return r, nil
	case '-':
		return r, errors.New(string(rest))
	}
	if r.number, err = strconv.ParseInt(string(rest), 10, 64); err != nil {
		return r, fmt.Errorf("not an answer of Redis: %q", line)
	}
	switch r.kind {
	case '$':
		return w.readText(r)
	case '*':
		return w.readList(r)
	}
	return r, nil
}

func (w *wire) readText(r reply) (reply, error) {
	if r.number < 0 {
		return r, nil
	}
	text := make([]byte, r.number+2)
	if _, err := io.ReadFull(w.in, text); err != nil {
		return r, err
	}
	r.text = string(text[:r.number])
	return r, nil
}

func (w *wire) readList(r reply) (reply, error) {
	for range r.number {
		one, err := w.read()
		if err != nil {
			return r, err
		}
		r.list = append(r.list, one)
	}
	return r, nil
}

func (w *wire) close() error { return w.conn.Close() }
