package scripts

import "strings"

// Redisson derives every key and channel of a synchroniser from its name in two ways. A name that
// contains an opening brace anywhere is taken as it is; any other is put into braces, so that all
// derived keys share its hash slot. (RedissonObject.prefixName and suffixName, Redisson 4.7.)

// PrefixName is Redisson's prefixName: "prefix:{name}".
func PrefixName(prefix, name string) string {
	if strings.IndexByte(name, '{') >= 0 {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}

// SuffixName is Redisson's suffixName: "{name}:suffix".
func SuffixName(name, suffix string) string {
	if strings.IndexByte(name, '{') >= 0 {
		return name + ":" + suffix
	}
	return "{" + name + "}:" + suffix
}

// LockChannel is where the unlocking of a mutex is announced, with the message "0".
func LockChannel(name string) string { return PrefixName("redisson_lock__channel", name) }

// AppendLockChannel appends LockChannel(name) to b.
func AppendLockChannel(b []byte, name string) []byte {
	b = append(b, "redisson_lock__channel:"...)
	if strings.IndexByte(name, '{') >= 0 {
		return append(b, name...)
	}
	b = append(b, '{')
	b = append(b, name...)
	return append(b, '}')
}

// LineKey is the line of the engines that wait for a mutex (line.lua): a sorted set of ours alone, in the name's hash slot. Not even the
// name's alias shares it.
func LineKey(name string) string { return string(AppendLineKey(nil, name)) }

// AppendLineKey appends LineKey(name) to b.
func AppendLineKey(b []byte, name string) []byte {
	if strings.IndexByte(name, '{') >= 0 {
		return append(append(b, name...), "::wheellock:line"...)
	}
	return append(append(append(b, '{'), name...), "}:wheellock:line"...)
}

// Inbox is where an engine hears what concerns it alone about a name with this channel.
func Inbox(channel, uuid string) string { return channel + ":wheellock:" + uuid }

// ClaimsKey is what engines claim that wait for a fair mutex (claim.lua): a hash of ours alone, in the name's hash slot. Not even the
// name's alias shares it.
func ClaimsKey(name string) string { return apart(name, "wheellock:claims") }

// NoteKey is what an owner of a lock says that it is for.
func NoteKey(name, owner string) string { return SuffixName(name, "wheellock:note:"+owner) }

// apart is a key of ours that a name does not share with its alias.
func apart(name, suffix string) string {
	if strings.IndexByte(name, '{') >= 0 {
		name += ":"
	}
	return SuffixName(name, suffix)
}

// TokenKey is the fencing counter of a fenced mutex.
func TokenKey(name string) string { return PrefixName("redisson_lock_token", name) }

// LeaderKey is where the leader of an election is noted, beside the fenced mutex that decides the election. Redisson does not know it.
func LeaderKey(name string) string { return SuffixName(name, "wheellock:leader") }

// LeaderChannel is where a new leader is announced, with its term.
func LeaderChannel(name string) string { return LockChannel(name) + ":leader" }

// RWChannel is where the unlocking of a read-write lock is announced: with the message "0" when no reader is
// left, with "1" when a writer has gone.
func RWChannel(name string) string { return PrefixName("redisson_rwlock", name) }

// HoldKey is the key of a reader's first hold; the readers of an engine have no more.
func HoldKey(name, owner string) string { return SuffixName(name, owner+":rwlock_timeout:1") }

// FairQueue is the list of waiters for a fair mutex, the next one first.
func FairQueue(name string) string { return PrefixName("redisson_lock_queue", name) }

// FairDeadlines is the sorted set of until when, in ms, they are believed to live.
func FairDeadlines(name string) string { return PrefixName("redisson_lock_timeout", name) }

// FairAlive is the sorted set of until when, in ms of the server's clock, the engines live that wait for a fair
// mutex. Redisson does not know it.
func FairAlive(name string) string { return SuffixName(name, "wheellock:alive") }

// FairChannel is where a waiter for a fair mutex hears that it is its turn, with the message "0".
func FairChannel(name, owner string) string { return LockChannel(name) + ":" + owner }
