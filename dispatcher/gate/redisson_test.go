package gate

import (
	"strconv"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// redissonRW is a client of Redisson with a read-write lock: it takes, renews and frees as that does. It holds until until.
type redissonRW struct {
	redis *redis
	owner string
	write bool
	until time.Duration // 0: it holds nothing
}

// take takes the lock if it may. A lease is not above that of our watchdogs, which its own renewals would lower.
func (j *redissonRW) take(write bool, lease time.Duration) {
	r := j.redis
	mode := r.do("HGET", stock, "mode").Str
	if j.until > *r.now || mode == "write" || write && mode != "" || r.has(j.owner) {
		return
	}
	j.write, j.until = write, *r.now+lease
	ms := strconv.FormatInt(lease.Milliseconds(), 10)
	if write {
		r.do("HSET", stock, "mode", "write", j.owner+WriterSuffix, "1")
		r.do("PEXPIRE", stock, ms)
		return
	}
	r.do("HSET", stock, "mode", "read", j.owner, "1")
	r.do("SET", scripts.HoldKey(stock, j.owner), "1", "PX", ms)
	if r.do("PTTL", stock).Int < lease.Milliseconds() {
		r.do("PEXPIRE", stock, ms)
	}
}

// renew is the renewal of readers: a plain PEXPIRE of the hash, which may lower its TTL.
func (j *redissonRW) renew(lease time.Duration) {
	r := j.redis
	if j.until <= *r.now || j.write || !r.has(j.owner) {
		return
	}
	j.until = *r.now + lease
	ms := strconv.FormatInt(lease.Milliseconds(), 10)
	r.do("PEXPIRE", scripts.HoldKey(stock, j.owner), ms)
	r.do("PEXPIRE", stock, ms)
}

// free is the unlock. A reader goes as ours do.
func (j *redissonRW) free() {
	r := j.redis
	if j.until <= *r.now {
		return
	}
	j.until = 0
	switch channel := scripts.RWChannel(stock); {
	case !j.write:
		r.run(written{scripts.ReleaseRead.Text, []string{stock, stock, scripts.HoldKey(stock, j.owner)}, []string{"PUBLISH", "0", j.owner, channel}})
	case r.has(j.owner + WriterSuffix):
		r.do("DEL", stock)
		r.do("PUBLISH", channel, "0")
	}
}

// has reports whether an owner has the lock of stock.
func (r *redis) has(owner string) bool { return r.do("HEXISTS", stock, owner).Int == 1 }
