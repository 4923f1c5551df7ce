package chaos

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/wheellock/wheellock/engine"
)

// resource is what fenced locks protect: a number for each name, changed by reading and writing, in another
// process than the holders'. It takes the tokens it is shown to be growing: a lower one than it has seen, in a
// read or a write, is refused. Then no write is lost, however long a holder slept between the two.
type resource struct {
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex // guards the rest
	conns  map[net.Conn]bool
	values map[string]*fencedValue
	taken  int // writes
	kept   int // writes refused: the fence was needed
	lost   []string
}

type fencedValue struct{ value, highest int64 }

// serveResource opens a resource until the end of the test.
func serveResource(tb testing.TB) *resource {
	tb.Helper()
	listener, err := net.Listen("unix", filepath.Join(tb.TempDir(), "resource"))
	if err != nil {
		tb.Fatal(err)
	}
	r := &resource{listener: listener, conns: make(map[net.Conn]bool), values: make(map[string]*fencedValue)}
	r.running.Go(r.accept)
	tb.Cleanup(r.close)
	return r
}

func (r *resource) addr() string { return r.listener.Addr().String() }

func (r *resource) close() {
	_ = r.listener.Close() // ends accept
	r.mu.Lock()
	for conn := range r.conns {
		_ = conn.Close()
	}
	r.conns = nil
	r.mu.Unlock()
	r.running.Wait()
}

func (r *resource) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		if r.conns == nil {
			_ = conn.Close()
		} else {
			r.conns[conn] = true
			r.running.Go(func() { r.serve(conn) })
		}
		r.mu.Unlock()
	}
}

// serve answers "name token" with the value, and "name token value" with whether it was taken, by lines.
func (r *resource) serve(conn net.Conn) {
	defer func() {
		r.mu.Lock()
		delete(r.conns, conn)
		r.mu.Unlock()
		_ = conn.Close()
	}()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var name string
		var token, value, answer int64
		n, _ := fmt.Sscan(lines.Text(), &name, &token, &value)
		if n == 2 {
			answer = r.read(name, token)
		} else if r.write(name, token, value) {
			answer = 1
		}
		if _, err := fmt.Fprintln(conn, answer); err != nil {
			return
		}
	}
}

// refusedRead is the value of a read with a token that is too low.
const refusedRead = -1

func (r *resource) read(name string, token int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.valueLocked(name)
	if token < v.highest {
		return refusedRead
	}
	v.highest = token
	return v.value
}

func (r *resource) write(name string, token, value int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.valueLocked(name)
	if token < v.highest {
		r.kept++
		return false
	}
	if value != v.value+1 {
		r.lost = append(r.lost, fmt.Sprintf("%s: token %d wrote %d over %d", name, token, value, v.value))
	}
	v.highest, v.value = token, value
	r.taken++
	return true
}

func (r *resource) valueLocked(name string) *fencedValue {
	v := r.values[name]
	if v == nil {
		v = &fencedValue{}
		r.values[name] = v
	}
	return v
}

// sums is how many writes were taken, how many refused, and what was lost.
func (r *resource) sums() (taken, kept int, lost []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken, r.kept, r.lost
}

// resourceClient is a client's connection to the resource.
type resourceClient struct {
	mu   sync.Mutex // held for a question and its answer
	conn net.Conn
	from *bufio.Reader
}

func dialResource(addr string) (*resourceClient, error) {
	conn, err := net.Dial("unix", addr)
	if err != nil {
		return nil, err
	}
	return &resourceClient{conn: conn, from: bufio.NewReader(conn)}, nil
}

func (c *resourceClient) close() { _ = c.conn.Close() }

func (c *resourceClient) ask(question string) (answer int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err = fmt.Fprintln(c.conn, question); err != nil {
		return 0, err
	}
	_, err = fmt.Fscanln(c.from, &answer)
	return answer, err
}

// resourceState is what a holder has read.
type resourceState struct {
	value int64
	ok    bool
}

// readResource reads under a hold's token.
func (w *worker) readResource(h *engine.Hold) resourceState {
	token, fenced := h.Token()
	if w.resource == nil || !fenced {
		return resourceState{}
	}
	value, err := w.resource.ask(fmt.Sprintf("%s %d", h.Name(), token))
	return resourceState{value, err == nil && value != refusedRead}
}

// writeResource writes what was read, and one, under the hold's token, whether the hold still lives or not.
func (w *worker) writeResource(h *engine.Hold, call uint32, state resourceState) {
	if token, _ := h.Token(); state.ok {
		taken, err := w.resource.ask(fmt.Sprintf("%s %d %d", h.Name(), token, state.value+1))
		if err == nil {
			w.tell(record{What: wrote, At: now(), Call: call, Classes: classes(taken)})
		}
	}
}
