package chaos

import (
	"bufio"
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
)

// A record comes out of the pipe as it went in, also the last before a kill, and a cut one is found.
func TestRecords(t *testing.T) {
	said := []record{
		{At: 1, What: granted, Way: dropped, Place: 300, Call: 70_000, Owner: 9, N: -2, Classes: isOther, Write: true, Token: 1 << 50, Until: never},
		{At: 2, Text: strings.Repeat("x", 2*mostText)},
	}
	var b []byte
	for i := range said {
		b = said[i].append(b)
	}
	said[1].Text = said[1].Text[:mostText]
	from := bufio.NewReader(bytes.NewReader(b))
	for _, want := range said {
		var got record
		if err := got.read(from); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v, %v; want %+v", got, err, want)
		}
	}
	var r record
	if err := r.read(from); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if err := r.read(bufio.NewReader(bytes.NewReader(b[:len(b)-1-recordBytes-mostText]))); err == nil {
		err = r.read(bufio.NewReader(bytes.NewReader(b[:recordBytes])))
		if err != io.ErrUnexpectedEOF {
			t.Errorf("a cut record: %v", err)
		}
	}
}
