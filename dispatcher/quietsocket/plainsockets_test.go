//go:build wheellock_plainsockets

package quietsocket

import (
	"net"
	"testing"
)

// The build tag leaves every socket as it is.
func TestPlainSocketsAreLeftAlone(t *testing.T) {
	conn := new(net.TCPConn)
	if got := Wrap(conn); got != net.Conn(conn) {
		t.Errorf("made a %T of it", got)
	}
}
