package chaos

import (
	"context"
	"net"
	"time"
)

// faint is how long Redis may take to answer a PING on loopback before it counts as not running: an fsync on a busy
// disk, or another's turn on the processor.
const faint = 50 * time.Millisecond

// pulse asks Redis again and again, past every proxy, and tells when it did not answer, until ctx ends.
func pulse(ctx context.Context, addr string, tell func(span)) {
	var conn net.Conn
	defer func() {
		if conn != nil {
			_ = conn.Close()
		}
	}()
	answer := make([]byte, 256)
	for ctx.Err() == nil {
		at := now()
		var err error
		if conn == nil {
			conn, err = net.Dial("tcp", addr)
		}
		if err == nil {
			_ = conn.SetDeadline(time.Now().Add(5 * time.Second)) // a server that is frozen for longer is asked anew
			if _, err = conn.Write([]byte("PING\r\n")); err == nil {
				_, err = conn.Read(answer)
			}
		}
		if err != nil && conn != nil {
			_ = conn.Close()
			conn = nil
		}
		if end := now(); end.sub(at) > faint {
			tell(span{at, end})
		}
		pause(ctx, faint/5)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
