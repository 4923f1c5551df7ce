package main

import "crypto/rand"

// nameLength is that of every name in every work.
const nameLength = 24

// names builds lock names: a prefix of 8 bytes that no other turn has, and 16 hexadecimal digits.
type names struct{ prefix string }

// freshPrefix is new for each turn, so that nothing an earlier turn left in Redis can matter.
func freshPrefix() string { return rand.Text()[:7] + ":" }

// build makes the name with this number; one allocation, which all contestants pay alike.
func (n names) build(number uint64) string {
	const digits = "0123456789abcdef"
	var name [nameLength]byte
	at := copy(name[:], n.prefix)
	for i := nameLength - 1; i >= at; i-- {
		name[i] = digits[number&15]
		number >>= 4
	}
	return string(name[:])
}

// ofCaller is the name of a caller's sequence-th call, which no other call has.
func (n names) ofCaller(caller int, sequence uint64) string {
	return n.build(uint64(caller)<<40 | sequence)
}
