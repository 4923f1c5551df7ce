package wheeltus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tus/tusd/v2/pkg/filestore"
	"github.com/tus/tusd/v2/pkg/handler"
	"golang.org/x/exp/slog"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"

	wheeltus "github.com/wheellock/wheellock/contrib/tusd"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// site is a tusd.
type site struct {
	t   *testing.T
	url string
}

// serve starts a tusd with a store in dir.
func serve(t *testing.T, e *engine.Engine, dir string, change ...func(*handler.Config)) *site {
	t.Helper()
	locker, err := wheeltus.New(e, wheeltus.Options{})
	testkit.Must(t, err)
	composer := handler.NewStoreComposer()
	filestore.New(dir).UseIn(composer)
	locker.UseIn(composer)
	config := handler.Config{
		BasePath: "/files/", StoreComposer: composer, Logger: quiet,
		AcquireLockTimeout: testkit.Patience, GracefulRequestCompletionTimeout: 10 * time.Millisecond, // for which goroutines are left
	}
	for _, c := range change {
		c(&config)
	}
	h, err := handler.NewHandler(config)
	testkit.Must(t, err)
	server := httptest.NewServer(http.StripPrefix("/files/", h))
	t.Cleanup(server.Close)
	return &site{t, server.URL + "/files/"}
}

// client makes a connection for each request: tusd ends reading from the connection of a request that is to make way, and may be late with
// that, when the connection has the next request.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// ask sends a request and returns status, header and body of the answer.
func (s *site) ask(method, id string, body io.Reader, header ...string) (status int, h http.Header, text string) {
	r, err := http.NewRequestWithContext(testkit.Soon(s.t), method, s.url+id, body)
	if err != nil {
		s.t.Error(err)
		return 0, nil, ""
	}
	r.Header.Set("Tus-Resumable", "1.0.0")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := client.Do(r)
	if err != nil {
		s.t.Error(err)
		return 0, nil, ""
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Error(err)
	}
	return answer.StatusCode, answer.Header, string(content)
}

// create begins an upload of so many bytes and returns its id.
func (s *site) create(bytes int) string {
	s.t.Helper()
	status, header, text := s.ask(http.MethodPost, "", nil, "Upload-Length", strconv.Itoa(bytes))
	if status != http.StatusCreated {
		s.t.Fatalf("%d %s", status, text)
	}
	return path.Base(header.Get("Location"))
}

// offset asks how much of an upload is there.
func (s *site) offset(id string) int {
	status, header, text := s.ask(http.MethodHead, id, nil)
	n, err := strconv.Atoi(header.Get("Upload-Offset"))
	if status != http.StatusOK || err != nil {
		s.t.Errorf("%d %s, offset %v", status, text, err)
	}
	return n
}

// patch sends a part of an upload.
func (s *site) patch(id string, offset int, body io.Reader) (status int, text string) {
	status, _, text = s.ask(http.MethodPatch, id, body, "Upload-Offset", strconv.Itoa(offset), "Content-Type", "application/offset+octet-stream")
	return status, text
}

// stuck is a PATCH whose client has stopped sending: its connection is dead, but the server does not know.
type stuck struct {
	status chan int
	text   string // read it after status
}

// stick begins a PATCH that sends a beginning and no more, until the end of the test or until the server answers.
func (s *site) stick(id, beginning string) *stuck {
	s.t.Helper()
	body, sender := io.Pipe()
	s.t.Cleanup(func() { sender.Close() })
	p := &stuck{status: make(chan int, 1)}
	go func() {
		var status int
		status, p.text = s.patch(id, 0, body)
		p.status <- status
	}()
	if _, err := io.WriteString(sender, beginning); err != nil {
		s.t.Fatal(err)
	}
	return p
}

// interrupted waits until a stuck request was told to make way.
func (p *stuck) interrupted(t *testing.T) {
	t.Helper()
	select {
	case status := <-p.status:
		if status != handler.ErrUploadInterrupted.HTTPResponse.StatusCode || !strings.HasPrefix(p.text, handler.ErrUploadInterrupted.ErrorCode) {
			t.Errorf("the request that had the upload: %d %s", status, p.text)
		}
	case <-time.After(testkit.Patience):
		t.Fatal("the request that has the upload does not make way")
	}
}

// written waits until the store has so many bytes of an upload.
func written(t *testing.T, dir, id string, bytes int64) {
	t.Helper()
	redistest.Await(t, "the store to have what was sent", func() bool {
		info, err := os.Stat(filepath.Join(dir, id))
		return err == nil && info.Size() == bytes
	})
}

// A client whose connection is stuck goes on with its upload over another one, at the same tusd or at another, and nothing is lost.
func TestASecondRequestGetsTheUpload(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]bool{"same process": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis, dir := redistest.Start(t), t.TempDir()
			first := serve(t, testkit.Connect(t, redis.Addr()), dir)
			second := first
			if other {
				second = serve(t, testkit.Connect(t, redis.Addr()), dir)
			}
			id := first.create(11)
			old := first.stick(id, "hello")
			written(t, dir, id, 5)
			if offset := second.offset(id); offset != 5 {
				t.Errorf("%d bytes are there, want 5", offset)
			}
			old.interrupted(t)
			if status, text := second.patch(id, 5, strings.NewReader(" world")); status != http.StatusNoContent {
				t.Errorf("%d %s", status, text)
			}
			if content, err := os.ReadFile(filepath.Join(dir, id)); string(content) != "hello world" {
				t.Errorf("the upload is %q, %v", content, err)
			}
			redistest.Await(t, "the lock to be free", func() bool { return len(redis.Keys()) == 0 })
		})
	}
}

// Many clients send the bytes of one upload to two processes, each whatever byte is missing: every byte comes once.
func TestNoByteIsWrittenTwice(t *testing.T) {
	t.Parallel()
	const bytes, clients = 100, 8
	redis, dir := redistest.Start(t), t.TempDir()
	var sites []*site
	for range 2 {
		sites = append(sites, serve(t, testkit.Connect(t, redis.Addr()), dir))
	}
	id := sites[0].create(bytes)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			s := sites[i%2]
			for offset := s.offset(id); offset < bytes && !t.Failed(); offset = s.offset(id) {
				switch status, text := s.patch(id, offset, strings.NewReader(string(byteAt(offset)))); status {
				case http.StatusNoContent, http.StatusConflict, handler.ErrUploadInterrupted.HTTPResponse.StatusCode:
				default:
					t.Errorf("%d %s", status, text)
				}
			}
		})
	}
	wg.Wait()
	content, err := os.ReadFile(filepath.Join(dir, id))
	if err != nil || len(content) != bytes {
		t.Fatalf("%d bytes, %v; want %d", len(content), err, bytes)
	}
	for i, b := range content {
		if rune(b) != byteAt(i) {
			t.Errorf("byte %d is %q, want %q", i, b, byteAt(i))
		}
	}
}

func byteAt(offset int) rune { return rune('a' + offset%26) }

// A request whose lock is lost is ended, though nobody waits.
func TestALostLockEndsTheRequest(t *testing.T) {
	t.Parallel()
	redis, dir := redistest.Start(t), t.TempDir()
	s := serve(t, testkit.Connect(t, redis.Addr(), func(o *engine.Options) { o.WatchLoss = true }), dir)
	id := s.create(11)
	old := s.stick(id, "hello")
	written(t, dir, id, 5)
	redis.MustDo("DEL", "tus:"+id)
	old.interrupted(t)
}

// What a request is told when it does not get the upload.
func TestWhatARequestIsTold(t *testing.T) {
	t.Parallel()
	redis, dir := redistest.Start(t), t.TempDir()
	e := testkit.Connect(t, redis.Addr())
	patient := serve(t, e, dir)
	hasty := serve(t, e, dir, func(c *handler.Config) { c.AcquireLockTimeout = 100 * time.Millisecond })
	told := func(s *site, id string, want handler.Error) {
		t.Helper()
		if status, text := s.patch(id, 0, strings.NewReader("x")); status != want.HTTPResponse.StatusCode || text != want.HTTPResponse.Body {
			t.Errorf("%d %q, want %d %q", status, text, want.HTTPResponse.StatusCode, want.HTTPResponse.Body)
		}
	}
	id := patient.create(11)
	testkit.MustLock(t, testkit.Connect(t, redis.Addr()).Mutex("tus:"+id)) // by somebody who does not make way
	told(hasty, id, handler.ErrLockTimeout)
	redis.MustDo("SET", "tus:text", "x")
	told(patient, "text", wheeltus.ErrUnavailable)
	told(patient, strings.Repeat("a", 1024), handler.ErrNotFound)
	redis.Kill()
	told(patient, "b", wheeltus.ErrUnavailable)
	e.Close()
	told(patient, "b", wheeltus.ErrUnavailable)
}

// The errors are tusd's, and the engine's too.
func TestErrors(t *testing.T) {
	t.Parallel()
	if _, err := wheeltus.New(nil, wheeltus.Options{}); !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
	redis := redistest.Start(t)
	locker, err := wheeltus.New(testkit.Connect(t, redis.Addr()), wheeltus.Options{Prefix: "uploads:"})
	testkit.Must(t, err)
	locks := func() handler.Lock {
		lock, err := locker.NewLock("a")
		testkit.Must(t, err)
		return lock
	}
	first := locks()
	wanted := make(chan struct{})
	testkit.Must(t, first.Lock(t.Context(), func() { close(wanted) }))
	if keys := redis.Keys(); fmt.Sprint(keys) != "[uploads:a]" {
		t.Errorf("keys %q", keys)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // long enough for an answer
	defer cancel()
	if err := locks().Lock(ctx, nil); !errors.Is(err, handler.ErrLockTimeout) || !errors.Is(err, engine.ErrHeld) {
		t.Errorf("%v, want ErrLockTimeout and ErrHeld", err)
	}
	testkit.Receive(t, "the first to be told that another waits", wanted)
	if err := first.Unlock(); err != nil {
		t.Error(err)
	}
	if err := first.Unlock(); !errors.Is(err, engine.ErrUnlocked) {
		t.Errorf("%v, want ErrUnlocked", err)
	}
}

// A process that has had an upload listens for a second more, and waits for nobody: whoever has the upload then is not interrupted.
func TestNobodyIsInterruptedForOneThatHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, redis := enginetest.New(t, engine.Options{})
		other, err := redis.Open(t.Context(), engine.Options{})
		testkit.Must(t, err)
		defer other.Close()
		locks := func(e *engine.Engine, wanted func()) handler.Lock {
			locker, err := wheeltus.New(e, wheeltus.Options{})
			testkit.Must(t, err)
			lock, err := locker.NewLock("a")
			if err == nil {
				err = lock.Lock(t.Context(), wanted)
			}
			testkit.Must(t, err)
			return lock
		}
		way := make(chan struct{})
		first := locks(e, func() { close(way) }) // a PATCH, whose connection breaks
		go func() {
			<-way
			_ = first.Unlock()
		}()
		_ = locks(other, nil).Unlock() // the HEAD of its client, which waits
		var interrupted atomic.Bool
		again := locks(e, func() { interrupted.Store(true) })
		time.Sleep(time.Minute)
		if interrupted.Load() {
			t.Error("nobody waits for the upload, and it is interrupted")
		}
		waits := make(chan handler.Lock)
		go func() { waits <- locks(other, nil) }()
		time.Sleep(300 * time.Millisecond)
		if !interrupted.Load() {
			t.Error("another request waits for the upload, and it is not interrupted")
		}
		_ = again.Unlock()
		_ = (<-waits).Unlock()
	})
}
