package redisnet

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"sync"

	"github.com/wheellock/wheellock/internal/redismodel"
)

var errProtocol = errors.New("redisnet: not a command")

// readCommand reads one command, as clients write them.
func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readHeader(r, '*')
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := readHeader(r, '$')
		if err != nil {
			return nil, err
		}
		if args[i], err = readText(r, size); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// readText reads one argument with its end of line.
func readText(r *bufio.Reader, size int) (string, error) {
	text, err := r.Peek(size + 2)
	if err == bufio.ErrBufferFull {
		text = make([]byte, size+2)
		_, err = io.ReadFull(r, text)
		return string(text[:size]), err
	}
	if err != nil {
		return "", err
	}
	defer r.Discard(size + 2)
	if size < shortest {
		return string(text[:size]), nil
	}
	long.Lock()
	defer long.Unlock()
	known, is := long.texts[string(text[:size])]
	if !is {
		known = string(text[:size])
		long.texts[known] = known
	}
	return known, nil
}

// long are the arguments that may be scripts, each once: every engine sends all scripts to every server.
var long = struct {
	sync.Mutex
	texts map[string]string
}{texts: make(map[string]string)}

const shortest = 512 // bytes of a long one

func readHeader(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 4 || line[0] != kind {
		return 0, errProtocol
	}
	return strconv.Atoi(string(line[1 : len(line)-2]))
}

func appendHeader(b []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(b, kind), int64(n), 10), "\r\n"...)
}

func appendText(b []byte, text string) []byte {
	return append(append(appendHeader(b, '$', len(text)), text...), "\r\n"...)
}

// appendValue writes an answer.
func appendValue(b []byte, v redismodel.Value, resp3 bool) []byte {
	switch v.Kind {
	case redismodel.Nil:
		if resp3 {
			return append(b, "_\r\n"...)
		}
		return append(b, "$-1\r\n"...)
	case redismodel.Int:
		return appendHeader(b, ':', int(v.Int))
	case redismodel.Str:
		return appendText(b, v.Str)
	case redismodel.Status:
		return append(append(append(b, '+'), v.Str...), "\r\n"...)
	case redismodel.Err:
		return append(append(append(b, '-'), v.Str...), "\r\n"...)
	}
	b = appendHeader(b, '*', len(v.Array))
	for _, item := range v.Array {
		b = appendValue(b, item, resp3)
	}
	return b
}

// appendPush writes what a subscriber is told.
func appendPush(b []byte, resp3 bool, items ...any) []byte {
	kind := byte('*')
	if resp3 {
		kind = '>'
	}
	b = appendHeader(b, kind, len(items))
	for _, item := range items {
		switch item := item.(type) {
		case string:
			b = appendText(b, item)
		case int:
			b = appendHeader(b, ':', item)
		case []string:
			b = appendHeader(b, '*', len(item))
			for _, one := range item {
				b = appendText(b, one)
			}
		default:
			b = appendValue(b, redismodel.Value{}, resp3)
		}
	}
	return b
}
