package engine

import "github.com/wheellock/wheellock/internal/gate"

// FairMutex is Redisson's RFairLock: a Mutex that serves in the order in which requests came to Redis, across
// processes, Go and Java alike. It costs what order costs: the lock is not handed on inside the process without
// asking Redis, and each waiter stands in a queue there, which all of them in one process keep alive together.
//
// A process that dies while its callers wait delays the queue by Options.FairWaiterLease, all of them together, as
// long as anybody waits or unlocks who knows of it, that is, an engine like this one. When there are only Java
// services left, they skip such a waiter when they would skip one of their own: up to five minutes after the one
// before it was served (fairLockWaitTimeout of Redisson).
//
// TryLock takes the lock when nobody has it and nobody waits; it never joins the queue. On one name use FairMutex
// alone: other kinds would take the lock past the queue. By Redisson's rule "a" and "{a}" have one queue, so while one
// of them is in use the other is ErrInvalid.
func (e *Engine) FairMutex(name string) *Mutex { return &Mutex{e: e, name: name, kind: gate.FairKind} }
