package chaos

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// what says what a record tells.
type what uint8

const (
	called    what = iota // a call is about to be made
	granted               // it was answered with a hold
	denied                // it was answered with an error
	alive                 // the hold said so a moment after At
	ended                 // the hold told its end
	unlocking             // Unlock, or Release, is about to be called
	unlocked              // it returned
	extending             // Extend is about to be called
	extended              // it returned
	stalled               // the process did not run from Until to At
	rested                // every worker has stopped; N is how many holds the engine believes it has
	sampled               // Text is a gauge, as JSON
	latched               // a latch let a waiter through; Until is when the last count down was called
)

// way is how a call was made.
type way uint8

const (
	tried    way = iota // asks once
	waited              // WithWait
	unbound             // no end but a grant
	ctxEnded            // its context is cancelled at a random moment
	dropped             // an asynchronous call whose future is cancelled
)

// record is one thing a client says. Its fields mean what its kind needs.
type record struct {
	At      instant
	What    what
	Way     way
	Place   uint16 // index of the name
	Call    uint32 // number of the call, which is its hold's too
	Owner   uint32 // 0: its own
	N       int32  // permits
	Classes classes
	Write   bool // the writer of a read-write lock
	Token   int64
	Until   instant // deadline; of a call: when it has to have been answered, 0: no bound
	Text    string  // of an error that no class fits
}

// recordBytes is the size of a record without its text.
const recordBytes = 8 + 1 + 1 + 2 + 4 + 4 + 4 + 4 + 1 + 8 + 8

// mostText keeps a frame below what a pipe takes in one piece.
const mostText = 500

// append adds the record's frame to b: its size in two bytes, then the fields.
func (r *record) append(b []byte) []byte {
	text := r.Text[:min(len(r.Text), mostText)]
	b = binary.LittleEndian.AppendUint16(b, uint16(recordBytes+len(text)))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.At))
	b = append(b, byte(r.What), byte(r.Way))
	b = binary.LittleEndian.AppendUint16(b, r.Place)
	b = binary.LittleEndian.AppendUint32(b, r.Call)
	b = binary.LittleEndian.AppendUint32(b, r.Owner)
	b = binary.LittleEndian.AppendUint32(b, uint32(r.N))
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Classes))
	b = append(b, octet(r.Write))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Token))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Until))
	return append(b, text...)
}

func octet(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// read takes the next frame; io.EOF when there is none, io.ErrUnexpectedEOF for a broken one.
func (r *record) read(from *bufio.Reader) error {
	var size [2]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return err
	}
	n := int(binary.LittleEndian.Uint16(size[:]))
	if n < recordBytes || n > recordBytes+mostText {
		return fmt.Errorf("chaos: a record of %d bytes", n)
	}
	b, err := from.Peek(n)
	if err != nil {
		return io.ErrUnexpectedEOF
	}
	*r = record{
		At: instant(binary.LittleEndian.Uint64(b)), What: what(b[8]), Way: way(b[9]),
		Place: binary.LittleEndian.Uint16(b[10:]), Call: binary.LittleEndian.Uint32(b[12:]),
		Owner: binary.LittleEndian.Uint32(b[16:]), N: int32(binary.LittleEndian.Uint32(b[20:])),
		Classes: classes(binary.LittleEndian.Uint32(b[24:])), Write: b[28] == 1,
		Token: int64(binary.LittleEndian.Uint64(b[29:])), Until: instant(binary.LittleEndian.Uint64(b[37:])),
		Text: string(b[recordBytes:]),
	}
	_, err = from.Discard(n)
	return err
}
