package doctor

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit"
)

// rewriting starts a proxy before a server, which passes each line that the server sends through rewrite. Lines keep their lengths.
func rewriting(t *testing.T, target string, rewrite func(line string) string) (addr string) {
	t.Helper()
	return testkit.Serve(t, func(client net.Conn) {
		server, err := net.Dial("tcp", target)
		if err != nil {
			t.Error(err)
			return
		}
		var up sync.WaitGroup
		defer up.Wait()
		up.Go(func() {
			io.Copy(server, client)
			server.Close()
		})
		for in := bufio.NewReader(server); ; {
			line, err := in.ReadString('\n')
			if err == nil {
				_, err = io.WriteString(client, rewrite(line))
			}
			if err != nil {
				client.Close()
				return
			}
		}
	})
}

// splitting starts a proxy before a master and its replica, neither of which has HELLO. It begins each connection at the master, and
// goes on at the replica when the client subscribes. Until then all answers have one line.
func splitting(t *testing.T, master, replica string) (addr string) {
	t.Helper()
	return testkit.Serve(t, func(client net.Conn) {
		var down sync.WaitGroup
		defer down.Wait()
		defer client.Close()
		dial := func(addr string) net.Conn {
			server, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				client.Close()
			}
			return server
		}
		var answers atomic.Int64
		pass := func(in *bufio.Reader) {
			down.Go(func() {
				for {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					answers.Add(1)
					io.WriteString(client, line)
				}
			})
		}
		server, subscribed, sent := dial(master), false, []byte(nil)
		pass(bufio.NewReader(server))
		for chunk := make([]byte, 64<<10); ; {
			n, err := client.Read(chunk)
			if err != nil {
				server.Close()
				return
			}
			if !subscribed && bytes.Contains(chunk[:n], []byte("\r\nSUBSCRIBE\r\n")) {
				server.Close()
				server, subscribed = dial(replica), true
				server.Write(sent)
				in := bufio.NewReader(server)
				for range answers.Load() {
					in.ReadString('\n')
				}
				pass(in)
			}
			sent = append(sent, chunk[:n]...)
			server.Write(chunk[:n])
		}
	})
}
