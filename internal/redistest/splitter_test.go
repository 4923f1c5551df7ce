package redistest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// frame is what the splitter says of one.
type frame struct {
	end      int // offset behind it
	kind     byte
	args     []string
	elements int64
}

// split feeds a stream in pieces of the sizes next gives, and returns its complete frames.
func split(s *splitter, stream []byte, next func(left int) int) (frames []frame, err error) {
	for at := 0; at < len(stream); {
		for piece := stream[at : at+next(len(stream)-at)]; len(piece) > 0; {
			n, complete, err := s.feed(piece)
			at, piece = at+n, piece[n:]
			if err != nil {
				return frames, err
			}
			if complete {
				frames = append(frames, frame{at, s.kind, slices.Clone(s.args), s.elements})
			}
		}
	}
	return frames, nil
}

func whole(left int) int      { return left }
func byteByByte(left int) int { return 1 }

func TestSplitter(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []struct {
		name, wire string
		inline     bool
		want       []frame
	}{
		{name: "simple answers", wire: "+OK\r\n-ERR no\r\n:7\r\n_\r\n#t\r\n,1.5\r\n(99\r\n", want: []frame{
			{5, '+', []string{"OK"}, 0}, {14, '-', []string{"ERR no"}, 0}, {18, ':', []string{"7"}, 0},
			{21, '_', []string{""}, 0}, {25, '#', []string{"t"}, 0}, {31, ',', []string{"1.5"}, 0},
			{36, '(', []string{"99"}, 0}}},
		{name: "strings with line ends in them", wire: "$4\r\n\r\n\r\n\r\n$0\r\n\r\n$-1\r\n", want: []frame{
			{10, '$', []string{"\r\n\r\n"}, 0}, {16, '$', []string{""}, 0}, {21, '$', []string{""}, 0}}},
		{name: "a request", wire: "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\r\n\r\n", want: []frame{
			{28, '*', []string{"SET", "k", "\r\n"}, 3}}},
		{name: "lists in lists, of which the leading plain elements are kept",
			wire: "*3\r\n:1\r\n*2\r\n:2\r\n*0\r\n:3\r\n*-1\r\n", want: []frame{
				{24, '*', []string{"1"}, 3}, {29, '*', nil, -1}}},
		{name: "maps, sets and attributes before an answer",
			wire: "%1\r\n+a\r\n~1\r\n:1\r\n|1\r\n+ttl\r\n:9\r\n*1\r\n:5\r\n", want: []frame{
				{16, '%', []string{"a"}, 1}, {38, '|', []string{"ttl", "9"}, 1}}},
		{name: "a push", wire: ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n", want: []frame{
			{32, '>', []string{"message", "c", "hi"}, 3}}},
		{name: "long and many elements are cut", wire: "*6\r\n$1000\r\n" + long + "\r\n" + strings.Repeat(":1\r\n", 5),
			want: []frame{{1033, '*', []string{long[:keptBytes], "1", "1", "1"}, 6}}},
		{name: "inline requests", inline: true, wire: "PING\r\nSET a 1\n\r\n*1\r\n$4\r\nPING\r\n", want: []frame{
			{6, 'P', []string{"PING"}, 1}, {14, 'S', []string{"SET", "a", "1"}, 3}, {16, '\r', []string{}, 0},
			{30, '*', []string{"PING"}, 1}}},
		{name: "an unfinished frame", wire: "*2\r\n:1\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cut := range []func(int) int{whole, byteByByte} {
				got, err := split(&splitter{inline: c.inline}, []byte(c.wire), cut)
				if err != nil || !reflect.DeepEqual(got, c.want) {
					t.Errorf("got %+v, %v; want %+v", got, err, c.want)
				}
			}
		})
	}
}

func TestSplitterRefuses(t *testing.T) {
	for _, wire := range []string{"?1\r\n", "\r\n", "$-2\r\n", "$x\r\n", "$99999999999\r\n", "*99999999999\r\n", "+OK\n",
		"$" + strings.Repeat("0", 80) + "5\r\n", strings.Repeat("*2147483648\r\n", 1000)} {
		for _, cut := range []func(int) int{whole, byteByByte} {
			if frames, err := split(&splitter{}, []byte(wire), cut); err == nil {
				t.Errorf("%.40q is taken for RESP: %+v", wire, frames)
			}
		}
	}
}

// FuzzSplitter: any bytes, cut anywhere, give the same frames as in one piece, in bounded memory.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n>2\r\n+a\r\n%1\r\n:1\r\n_\r\n"), uint64(1), false)
	f.Add([]byte("PING\r\n|1\r\n+a\r\n+b\r\n$-1\r\n"), uint64(2), true)
	f.Add([]byte("*2147483648\r\n*2147483648\r\n$2147483648\r\n"), uint64(3), false)
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64, inline bool) {
		one, other := &splitter{inline: inline}, &splitter{inline: inline}
		want, wantErr := split(one, stream, whole)
		random := rand.New(rand.NewPCG(seed, 0))
		got, gotErr := split(other, stream, func(left int) int { return 1 + random.IntN(min(left, 8)) })
		if !reflect.DeepEqual(got, want) || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("in pieces %+v, %v; whole %+v, %v", got, gotErr, want, wantErr)
		}
		for _, s := range []*splitter{one, other} {
			if cap(s.kept) > 2*keptBytes || len(s.args) > keptArgs || s.pending > maxPending {
				t.Errorf("kept %d bytes and %d elements, %d pending", cap(s.kept), len(s.args), s.pending)
			}
		}
	})
}

// FuzzSplitterFindsFrames: sound values of RESP3 end where they were made to end.
func FuzzSplitterFindsFrames(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		var stream []byte
		var want []int
		for range 20 {
			stream = appendValue(stream, random, 4)
			want = append(want, len(stream))
		}
		frames, err := split(&splitter{}, stream, func(left int) int { return 1 + random.IntN(min(left, 16)) })
		var got []int
		for _, frame := range frames {
			got = append(got, frame.end)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q ends at %v, %v; want %v", stream, got, err, want)
		}
	})
}

// appendValue appends a random value, nested up to depth.
func appendValue(to []byte, random *rand.Rand, depth int) []byte {
	if kind := "*~>%|"[random.IntN(5)]; depth > 0 && random.IntN(2) == 0 {
		length := random.IntN(5)
		to = fmt.Appendf(to, "%c%d\r\n", kind, length)
		switch kind {
		case '%':
			length *= 2
		case '|':
			length = 2*length + 1 // and the value that has the attributes
		}
		for range length {
			to = appendValue(to, random, depth-1)
		}
		return to
	}
	text := strings.Repeat("\r\n$5", random.IntN(40))
	switch kind := "+-:_,#($=!N"[random.IntN(11)]; kind {
	case 'N':
		return append(to, "$-1\r\n"...)
	case '$', '=', '!':
		return fmt.Appendf(to, "%c%d\r\n%s\r\n", kind, len(text), text)
	default:
		return fmt.Appendf(to, "%c%d\r\n", kind, random.Int64())
	}
}
