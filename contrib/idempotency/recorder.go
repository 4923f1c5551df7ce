package idempotency

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
)

// recorder takes the answer of a handler. It holds it back until it is stored, or lets it pass when the handler flushes it, and when it is too
// long to be kept.
type recorder struct {
	http.ResponseWriter
	most int // of bytes

	status  int // 0: the answer has not begun
	header  http.Header
	body    []byte
	passes  bool  // what is written goes out at once
	dropped error // why nothing is recorded any more
}

// begin takes the status, and the headers as they are now.
func (rec *recorder) begin(status int) {
	if rec.status == 0 {
		rec.status, rec.header = status, rec.Header().Clone()
	}
}

// WriteHeader implements http.ResponseWriter. An informational status goes out at once; what net/http would not send panics, as there.
func (rec *recorder) WriteHeader(status int) {
	switch {
	case status < 100 || status > 999:
		panic(fmt.Sprintf("idempotency: invalid WriteHeader code %d", status))
	case rec.status != 0: // it comes too late, whatever it is
	case status < 200 && status != http.StatusSwitchingProtocols:
		rec.ResponseWriter.WriteHeader(status)
	default:
		rec.begin(status)
	}
}

// Write implements http.ResponseWriter.
func (rec *recorder) Write(p []byte) (int, error) {
	rec.begin(http.StatusOK)
	if err := rec.unsent(len(p)); err != nil {
		return 0, err
	}
	if rec.dropped == nil && len(rec.body)+len(p) > rec.most {
		if err := rec.drop(fmt.Errorf("it has more than %d bytes", rec.most)); err != nil {
			return 0, err
		}
	}
	if rec.dropped == nil {
		rec.body = append(rec.body, p...)
	}
	if rec.passes {
		return rec.ResponseWriter.Write(p)
	}
	return len(p), nil
}

// unsent is why net/http would not send n more bytes.
func (rec *recorder) unsent(n int) error {
	said, says := rec.length()
	switch {
	case n > 0 && rec.bodyless():
		return http.ErrBodyNotAllowed
	case says && len(rec.body)+n > said:
		return http.ErrContentLength
	}
	return nil
}

// bodyless tells that a status has no body.
func (rec *recorder) bodyless() bool {
	return rec.status < http.StatusOK || rec.status == http.StatusNoContent || rec.status == http.StatusNotModified
}

// length is the Content-Length, if the handler has given one.
func (rec *recorder) length() (bytes int, says bool) {
	bytes, err := strconv.Atoi(rec.header.Get("Content-Length"))
	return bytes, err == nil && bytes >= 0
}

// drop lets the answer pass, and forgets it.
func (rec *recorder) drop(why error) error {
	err := rec.pass()
	rec.dropped, rec.body, rec.passes = why, nil, true
	return err
}

// pass sends what is held back, with the headers of that moment. What the handler has changed since is of use as trailers only, as in net/http.
func (rec *recorder) pass() error {
	if rec.passes || rec.status == 0 {
		return nil
	}
	rec.passes = true
	header, late := rec.Header(), make(http.Header)
	for name, values := range header {
		if was, is := rec.header[name]; !is || !slices.Equal(was, values) {
			late[name] = values
			delete(header, name)
		}
	}
	maps.Copy(header, rec.header)
	rec.ResponseWriter.WriteHeader(rec.status)
	maps.Copy(header, late)
	if _, typed := rec.header["Content-Type"]; !typed {
		rec.header["Content-Type"] = guessed(rec.header, rec.body)
	}
	if len(rec.body) == 0 {
		return nil
	}
	_, err := rec.ResponseWriter.Write(rec.body)
	return err
}

// guessed is the type that net/http gives an answer without one, from the body that it has when the header goes out; nil: none.
func guessed(header http.Header, body []byte) []string {
	if len(body) == 0 || header.Get("Content-Encoding") != "" {
		return nil
	}
	return []string{http.DetectContentType(body)}
}

// asksAgain tells that a repetition is to be served, and not to get this answer.
func (rec *recorder) asksAgain() bool {
	switch rec.status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return rec.status >= http.StatusInternalServerError || rec.status >= http.StatusBadRequest && rec.header.Get("Retry-After") != ""
}

// mayBeAPart tells that the handler wrote nothing, or flushed what has no length: if its client leaves, a write fails, or its context tells it to stop.
func (rec *recorder) mayBeAPart() bool {
	_, says := rec.length()
	return rec.status == 0 || rec.passes && !says && !rec.bodyless()
}

// endedEarly tells that the body is not as long as the handler said.
func (rec *recorder) endedEarly() bool {
	said, says := rec.length()
	return says && said != len(rec.body)
}

// FlushError has the answer go out as it is written, for http.ResponseController.
func (rec *recorder) FlushError() error {
	rec.begin(http.StatusOK)
	return errors.Join(rec.pass(), http.NewResponseController(rec.ResponseWriter).Flush())
}

// Flush implements http.Flusher.
func (rec *recorder) Flush() { _ = rec.FlushError() }

// Hijack implements http.Hijacker. A status that the handler has given goes out before.
func (rec *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if err := rec.pass(); err != nil {
		return nil, nil, err
	}
	conn, buffered, err := http.NewResponseController(rec.ResponseWriter).Hijack()
	if err == nil {
		err = rec.drop(errors.New("the handler took over the connection"))
	}
	return conn, buffered, err
}

// Unwrap is for http.ResponseController.
func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }
