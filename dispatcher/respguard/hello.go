package respguard

import (
	"bytes"
	"slices"
)

// rueidis asks for RESP3 by HELLO, and does with RESP2 where the server does not know that command; but only if the
// server says so in these words. Others say that they do not speak this version of the protocol, or that this user may
// not ask (Redis 6.0). So their refusals are put into those words. It is decided for each connection anew: behind one
// address there may be another server tomorrow.

// unknownHello is what rueidis knows.
var unknownHello = []byte("-ERR unknown command 'HELLO'")

// refusal reads on until the line at b[from] is complete, n bytes being there, and puts it into rueidis' words if it
// refuses HELLO. It returns how many bytes are there then.
func (g *guarded) refusal(b []byte, from, n int) (int, error) {
	end := bytes.IndexByte(b[from:n], '\n')
	for end < 0 {
		if n == len(b) {
			return n, errLength
		}
		more, err := g.Conn.Read(b[n:])
		if err != nil {
			return n, err
		}
		n += more
		end = bytes.IndexByte(b[from:n], '\n')
	}
	end += from
	if !refusesHello(b[from:end]) {
		return n, nil
	}
	line := slices.Concat(unknownHello, []byte("\r\n"))
	rest := n - (end + 1)
	if from+len(line)+rest > len(b) {
		return n, errLength
	}
	copy(b[from+len(line):], b[end+1:n])
	copy(b[from:], line)
	return from + len(line) + rest, nil
}

// refusesHello reports whether an error says that there is no RESP3, and nothing else that is wrong.
func refusesHello(line []byte) bool {
	return bytes.HasPrefix(line, []byte("-NOPROTO")) ||
		bytes.HasPrefix(line, []byte("-NOPERM")) && bytes.Contains(bytes.ToLower(line), []byte("'hello'")) ||
		bytes.HasPrefix(line, []byte("-ERR unknown command")) && bytes.Contains(bytes.ToLower(line), []byte("hello"))
}
