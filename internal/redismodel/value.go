package redismodel

import (
	"strconv"
	"strings"
)

// Kind is the type of a Value.
type Kind byte

// Nil is the answer of a key, field or list that is not there.
const (
	Nil Kind = iota
	Int
	Str
	Array
	Status // as OK
	Err    // Str begins with a word in capitals, as on the wire
)

// Value is an answer of Redis, as a client that speaks RESP2 sees it.
type Value struct {
	Kind  Kind
	Int   int64   // of Int
	Str   string  // of Str, Status and Err
	Array []Value // of Array
}

// String shows the answer for a message: texts in quotes, lists in brackets, errors behind an exclamation mark.
func (v Value) String() string {
	switch v.Kind {
	case Nil:
		return "nil"
	case Int:
		return strconv.FormatInt(v.Int, 10)
	case Str:
		return strconv.Quote(v.Str)
	case Status:
		return v.Str
	case Err:
		return "!" + v.Str
	}
	items := make([]string, len(v.Array))
	for i, item := range v.Array {
		items[i] = item.String()
	}
	return "[" + strings.Join(items, " ") + "]"
}

func integer[T int | int64](n T) Value { return Value{Kind: Int, Int: int64(n)} }
func text(s string) Value              { return Value{Kind: Str, Str: s} }
func failure(words string) Value       { return Value{Kind: Err, Str: words} }

// boolean is the answer of a command that says whether it changed something.
func boolean(changed bool) Value {
	if changed {
		return Value{Kind: Int, Int: 1}
	}
	return Value{Kind: Int}
}

func texts(items []string) Value {
	array := make([]Value, len(items))
	for i, item := range items {
		array[i] = text(item)
	}
	return Value{Kind: Array, Array: array}
}

var (
	null  = Value{Kind: Nil}
	ok    = Value{Kind: Status, Str: "OK"}
	empty = Value{Kind: Array}

	wrongType   = failure("WRONGTYPE Operation against a key holding the wrong kind of value")
	syntaxError = failure("ERR syntax error")
	notInteger  = failure("ERR value is not an integer or out of range")
	notFloat    = failure("ERR value is not a valid float")
)
