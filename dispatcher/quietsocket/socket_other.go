//go:build !linux || 386 || s390x || wheellock_plainsockets

package quietsocket

import "net"

// Wrap is for Linux. On 386 and s390x its system calls have other forms.
func Wrap(conn net.Conn) net.Conn { return conn }
