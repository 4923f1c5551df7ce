package wire

import "strconv"

// AppendOwner appends the owner field of a tenure, "<uuid>:<number>" as Redisson's is "<uuid>:<thread>".
func AppendOwner(b []byte, uuid string, id uint64) []byte {
	b = append(b, uuid...)
	b = append(b, ':')
	return strconv.AppendUint(b, id, 10)
}
