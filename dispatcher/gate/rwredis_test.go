package gate

import (
	"strings"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// rwRedis is what the scripts of the read-write lock do to one name, line by line, and what Redisson's do. The
// engine's tests hold the same against a real server.
type rwRedis struct {
	w         *rwWorld
	mode      string // empty: there is no hash
	until     time.Duration
	fields    map[string]int
	holds     map[string]time.Duration // hold keys, by owner: they run out at
	listeners []*rwProcess
}

// settle lets run out what has run out.
func (r *rwRedis) settle() {
	for owner, until := range r.holds {
		if r.w.now > until {
			delete(r.holds, owner)
		}
	}
	if r.mode != "" && r.w.now > r.until {
		r.clear()
	}
}

func (r *rwRedis) clear() { r.mode, r.fields = "", nil }

func (r *rwRedis) has(owner string) bool { return r.fields[owner] > 0 }

func (r *rwRedis) held() scripts.Reply {
	return scripts.Reply(-((r.until - r.w.now).Milliseconds() + 2))
}

func (r *rwRedis) put(mode, owner string, lease time.Duration) {
	if r.mode == "" {
		r.fields, r.until = make(map[string]int), 0
	}
	r.mode, r.fields[owner] = mode, 1
	r.until = max(r.until, r.w.now+lease)
	if mode == "read" {
		r.holds[owner] = max(r.holds[owner], r.w.now+lease)
	}
}

func (r *rwRedis) publish() scripts.Reply {
	for _, p := range r.listeners {
		p.messages++
	}
	return scripts.Reply(len(r.listeners))
}

// leave is the end of a reader.
func (r *rwRedis) leave(owner string) scripts.Reply {
	if !r.has(owner) {
		return scripts.NotMine
	}
	delete(r.fields, owner)
	delete(r.holds, owner)
	longest := time.Duration(-1)
	for other := range r.fields {
		if until, alive := r.holds[other]; alive {
			longest = max(longest, until)
		}
	}
	if longest > r.w.now {
		r.until = longest
		return 0
	}
	if len(r.fields) > 0 && r.mode == "write" {
		return 0
	}
	r.clear()
	return r.publish()
}

// run is one script.
func (r *rwRedis) run(c *Command, uuid string, notAfter time.Duration) scripts.Reply {
	r.settle()
	owner := ownerOf(uuid, c.ID)
	if other := c.Args.Release().Owner; other != "" {
		owner = strings.TrimSuffix(other, WriterSuffix)
	}
	writer := owner + WriterSuffix
	switch c.Op {
	case AcquireRead:
		a := c.Args.AcquireRead()
		switch {
		case r.w.now > notAfter:
			return scripts.Reply(-(1 << 52) - r.w.now.Milliseconds())
		case r.mode == "write", r.mode == "read" && a.Yields && len(r.listeners) > int(a.Own):
			return r.held()
		}
		r.put("read", owner, c.Lease)
		return 1
	case AcquireWrite:
		switch {
		case r.w.now > notAfter:
			return scripts.Reply(-(1 << 52) - r.w.now.Milliseconds())
		case r.mode != "" && !r.has(writer):
			return r.held()
		}
		r.put("write", writer, c.Lease)
		return 1
	case ReleaseRead:
		return r.leave(owner)
	case ReleaseWrite:
		if !r.has(writer) {
			return scripts.NotMine
		}
		if delete(r.fields, writer); len(r.fields) > 0 {
			r.mode = "read"
		} else {
			r.clear()
		}
		return r.publish()
	case Downgrade:
		switch {
		case r.has(writer):
			delete(r.fields, writer)
			r.put("read", owner, c.Lease)
			r.holds[owner] = r.until
			return r.publish()
		case r.has(owner):
			r.put("read", owner, c.Lease)
			return 0
		}
		return scripts.NotMine
	case RenewRead, ConfirmRead:
		if !r.has(owner) {
			return scripts.NotMine
		}
		r.put("read", owner, c.Lease)
	case RenewWrite, ConfirmWrite:
		if !r.has(writer) {
			return scripts.NotMine
		}
		r.until = max(r.until, r.w.now+c.Lease)
	}
	if c.Op == RenewRead || c.Op == RenewWrite {
		return 1
	}
	return scripts.Reply(len(r.listeners))
}

// java is a client of Redisson: it takes, renews and frees as that does. It holds until until.
type java struct {
	owner string
	write bool
	until time.Duration // 0: it holds nothing
}

func (r *rwRedis) take(j *java, write bool, lease time.Duration) {
	r.settle()
	if j.until > r.w.now || r.mode == "write" || write && r.mode != "" || r.has(j.owner) {
		return
	}
	j.write, j.until = write, r.w.now+lease
	if write {
		r.put("write", j.owner+WriterSuffix, lease)
	} else {
		r.put("read", j.owner, lease)
	}
}

// renew is Redisson's renewal of readers: a plain PEXPIRE of the hash, which may lower its TTL.
func (r *rwRedis) renew(j *java, lease time.Duration) {
	r.settle()
	if j.until <= r.w.now || j.write || !r.has(j.owner) {
		return
	}
	j.until = r.w.now + lease
	r.holds[j.owner], r.until = j.until, j.until
}

func (r *rwRedis) free(j *java) {
	r.settle()
	if j.until <= r.w.now {
		return
	}
	j.until = 0
	if j.write {
		r.clear()
		r.publish()
	} else {
		r.leave(j.owner)
	}
}
