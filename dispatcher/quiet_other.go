//go:build !linux

package dispatcher

import "net"

// quieten is for Linux.
func quieten(conn net.Conn) net.Conn { return conn }
