package main

import (
	"bufio"
	"reflect"
	"strings"
	"testing"
)

func TestWireReadsAnswers(t *testing.T) {
	read := func(text string) (reply, error) {
		return (&wire{in: bufio.NewReader(strings.NewReader(text))}).read()
	}
	for text, want := range map[string]reply{
		"+OK\r\n":              {kind: '+', text: "OK"},
		":-42\r\n":             {kind: ':', number: -42},
		"$5\r\na\r\nb \r\n":    {kind: '$', number: 5, text: "a\r\nb "},
		"$-1\r\n":              {kind: '$', number: -1},
		"*2\r\n:1\r\n+two\r\n": {kind: '*', number: 2, list: []reply{{kind: ':', number: 1}, {kind: '+', text: "two"}}},
	} {
		if got, err := read(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"-ERR no\r\n", "", "\r\n", ":x\r\n", "$9\r\nshort\r\n"} {
		if got, err := read(text); err == nil {
			t.Errorf("%q was taken for %+v", text, got)
		}
	}
}

func TestWireWritesCommands(t *testing.T) {
	got := string(appendCommand(nil, "SET", "k", ""))
	if want := "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
