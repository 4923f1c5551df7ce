package scripts

import "strings"

// HashSlots is how many hash slots a Redis Cluster has.
const HashSlots = 16384

// HashSlot is the hash slot of a key or channel: CRC16 of its hash tag, which is what is between the first opening
// brace and the first closing one behind it, or of all of it when there is no such thing or nothing in it.
func HashSlot(key string) uint16 {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if length := strings.IndexByte(key[open+1:], '}'); length > 0 {
			key = key[open+1 : open+1+length]
		}
	}
	var crc uint16
	for i := range len(key) {
		crc = crc<<8 ^ crc16[byte(crc>>8)^key[i]]
	}
	return crc % HashSlots
}

// crc16 is the table of CRC-16/XMODEM: polynomial 0x1021, begun with 0.
var crc16 = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
		table[i] = crc
	}
	return table
}()

// Together reports whether all keys and channels that Redisson's rules derive from a name lie in the name's own
// hash slot. They do when the name has no braces, or a hash tag with something in it.
//
// "a}b" has none, but the tag of "redisson_lock_queue:{a}b}" is "a"; "a{" and "{}a" are taken as they are, and with
// a prefix before them they are other keys.
func Together(name string) bool {
	open := strings.IndexByte(name, '{')
	if open < 0 {
		return name != "" && strings.IndexByte(name, '}') < 0
	}
	return strings.IndexByte(name[open+1:], '}') > 0
}

// LatchTogether is Together for a latch: its channel puts the name into braces even when it has some, so it must
// have none.
func LatchTogether(name string) bool { return name != "" && !strings.ContainsAny(name, "{}") }
