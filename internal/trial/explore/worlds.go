package explore

import (
	"slices"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// SmallWorlds are searched completely.
var SmallWorlds = slices.Concat(
	// Four calls besides Unlock, and one fault.
	worlds("mutex", gate.MutexKind, 1, []Call{Lock, Lock}, []Call{Lock, TryFixed}, Break),
	worlds("mutex refused", gate.MutexKind, 1, []Call{Lock, LockFixed}, []Call{TryFixed, TryFixed}, Break, ReadOnly, Twice),
	worlds("mutex paused", gate.MutexKind, 1, []Call{Lock, Lock}, []Call{Lock, Drop}, Pause, PauseInTurn),
	worlds("mutex of mixed leases", gate.MutexKind, 1, []Call{Lock, LockFixed, Extend}, []Call{Lock}, Break, Hold),
	worlds("mutex owners", gate.MutexKind, 1, []Call{LockOwned, LockOwned}, []Call{TryOwned, ForceUnlock}, Break, LoseKey),
	worlds("mutex closes", gate.MutexKind, 1, []Call{Lock, Lock, Close}, []Call{Lock}, Break, Down),
	worlds("mutex that fails fast", gate.MutexKind, 1, []Call{LockFast, LockFast}, []Call{Lock}, Break),
	worlds("fair that fails fast", gate.FairKind, 1, []Call{LockFast, LockFast}, []Call{Lock}, Break),
	counted(1, worlds("permits that fail fast", gate.PermitKind, 1, []Call{AcquireFast, AcquireFast}, []Call{Acquire}, Break)),
	given(2, worlds("line that fails fast", gate.MutexKind, 1, []Call{LockFast, LockFast}, []Call{Lock}, Break)),
	worlds("mutex stays", gate.MutexKind, 1, []Call{LockStaying, Lock}, []Call{Lock, TryStaying}, Break, Die),
	worlds("mutex detaches", gate.MutexKind, 1, []Call{Lock, Detach, Lock}, []Call{Adopt, Adopt}, Break, Hold),
	worlds("fenced detaches", gate.FencedKind, 1, []Call{Lock, Detach, Adopt}, []Call{Adopt}, Break, ReadOnly),
	worlds("fair stays", gate.FairKind, 1, []Call{LockStaying, Detach}, []Call{Lock, Adopt}, Break),
	worlds("fenced", gate.FencedKind, 1, []Call{Lock, LockFixed}, []Call{Lock, TryLock}, Break),
	worlds("spin", gate.SpinKind, 1, []Call{Lock, Lock}, []Call{Lock, TryFixed}, Break),
	ticking(2, worlds("simple", gate.SimpleKind, 1, []Call{Lock, Lock}, []Call{Lock, TryFixed}, Break, Hold)),
	worlds("simple, refused", gate.SimpleKind, 1, []Call{Lock, LockFixed}, []Call{Lock, ForceUnlock}, ReadOnly, OutOfMemory, LoseKey),
	ticking(1, worlds("simple stays", gate.SimpleKind, 1, []Call{Lock, Detach, Lock}, []Call{Adopt, Adopt}, Break, Hold)),
	worlds("fair", gate.FairKind, 1, []Call{Lock, Lock}, []Call{Lock, TryFixed}, Break),
	patient(5, worlds("fair, long under way", gate.FairKind, 1, []Call{Lock, Lock}, []Call{Lock}, Break)),
	worlds("read-write", gate.RWKind, 1, []Call{Read, Write}, []Call{Read, Write}, Break),
	worlds("two readers of one engine", gate.RWKind, 1, []Call{Read, Read}, []Call{Write}, Break),
	worlds("read-write owners", gate.RWKind, 1, []Call{WriteOwned, ReadOwned}, []Call{Read, TryWrite}, Break),
	counted(1, worlds("permits", gate.PermitKind, 1, []Call{Acquire, Acquire}, []Call{Acquire, TryAcquire}, Break)),
	counted(2, worlds("permits released", gate.PermitKind, 1, []Call{Acquire, Release}, []Call{Acquire, Release}, Break)),
	counted(1, worlds("semaphore", gate.SemaphoreKind, 1, []Call{Acquire, Give}, []Call{AcquireTwo, Give}, Break, Hold, BreakSubscription)),
	counted(2, worlds("latch", gate.LatchKind, 1, []Call{Await, CountDown}, []Call{Await, CountDown}, Break, Hold, BreakSubscription)),

	// Four calls with Unlock, and two faults.
	worlds("two of a mutex", gate.MutexKind, 2, []Call{Lock}, []Call{TryFixed}, Break, ReadOnly),
	worlds("two of a mutex, paused", gate.MutexKind, 2, []Call{Lock}, []Call{Lock}, PauseInTurn),
	atOnce(worlds("mutex handed on", gate.MutexKind, 2, []Call{Lock, Lock, Lock, Lock, Lock, Lock}, nil, Break, Down)),
	worlds("two of a fenced", gate.FencedKind, 2, []Call{Lock}, []Call{TryLock}, Break),
	worlds("two of a fair", gate.FairKind, 2, []Call{Lock}, []Call{LockFixed}, Break),
	worlds("two of a read-write", gate.RWKind, 2, []Call{Read}, []Call{Write}, Break),
	counted(1, worlds("two of permits", gate.PermitKind, 2, []Call{Acquire}, []Call{TryAcquire}, Break, ReadOnly)),

	// Four calls with Unlock, and three faults.
	worlds("three of two attempts", gate.MutexKind, 3, []Call{TryFixed}, []Call{TryFixed}, Break),
	worlds("three of a mutex", gate.MutexKind, 3, []Call{Lock}, []Call{Lock}, Break),
	worlds("three of a fenced", gate.FencedKind, 3, []Call{Lock}, []Call{Lock}, Break),
	worlds("three of a fair", gate.FairKind, 3, []Call{Lock}, []Call{Lock}, Break),
	worlds("three of a read-write", gate.RWKind, 3, []Call{Read}, []Call{Write}, Break),
	counted(1, worlds("three of permits", gate.PermitKind, 3, []Call{Acquire}, []Call{Acquire}, Break)),
	counted(1, worlds("three of a semaphore", gate.SemaphoreKind, 3, []Call{Acquire, Give}, []Call{Acquire, Give}, Break)),
	counted(2, worlds("three of a latch", gate.LatchKind, 3, []Call{Await, CountDown}, []Call{CountDown}, Break)),
	given(2, worlds("line", gate.MutexKind, 1, []Call{Lock, Lock}, []Call{Lock, Drop}, Break, LoseMessage, Hold)),
	given(2, worlds("line paused", gate.MutexKind, 1, []Call{Lock, Lock}, []Call{Lock, TryFixed}, Pause, PauseInTurn, Die)),
	given(2, worlds("line beside a fixed lease", gate.MutexKind, 1, []Call{Lock, LockFixed}, []Call{Lock, ForceUnlock}, Twice, TwiceMessage, LoseKey)),
	given(2, worlds("line forced", gate.MutexKind, 1, []Call{Lock}, []Call{Lock, Lock, ForceUnlock}, LoseMessage, TwiceMessage, Break)),
	given(2, ticking(1, worlds("line forced while asked", gate.MutexKind, 1, []Call{Lock}, []Call{Lock, Lock, ForceUnlock}, Hold))),
	given(2, worlds("line refused", gate.MutexKind, 1, []Call{Lock, Close}, []Call{Lock, Lock}, ReadOnly, BreakSubscription, Failover1)),
	beside(1, given(1, worlds("line beside an outsider", gate.MutexKind, 1, []Call{Lock, Lock}, []Call{Lock, Lock}, Break, LoseMessage, Hold))),
	given(2, worlds("read-write line", gate.RWKind, 1, []Call{Write, Read}, []Call{Read, Write}, Break, LoseMessage)),
	given(2, worlds("read-write line, given up", gate.RWKind, 1, []Call{Write, Read, DropFirst}, []Call{Write, Drop}, Hold, Die)),
	given(2, ticking(2, threeEngines("read-write line of three", gate.RWKind, []Call{Write}, []Call{Read}, []Call{Write, Drop}, Break, Die))),
	ticking(2, threeEngines("readers of three in line", gate.RWKind, []Call{Write}, []Call{Read}, []Call{Read, Read}, Break, LoseMessage)),
	beside(1, given(1, worlds("read-write line beside an outsider", gate.RWKind, 1, []Call{Read, Write}, []Call{Write, Read}, Break, Hold))),
	given(2, ticking(2, worlds("read-write line, refused", gate.RWKind, 1, []Call{Write}, []Call{Write, Drop}, ReadOnly))),
	given(2, ticking(2, worlds("read-write line, forced", gate.RWKind, 1, []Call{Write, Read}, []Call{Write, ForceUnlock}, TwiceMessage, LoseKey, Break))),
	given(2, worlds("read-write line and an open slot", gate.RWKind, 1, []Call{Write, Read}, []Call{Write}, OpenSlot)),
	beside(1, given(2, ticking(2, threeEngines("read-write line of two beside an outsider", gate.RWKind, []Call{Write}, []Call{Read}, []Call{Read}, Break, LoseMessage)))),
	given(2, worlds("two of a line", gate.MutexKind, 2, []Call{Lock}, []Call{Lock}, Break, LoseMessage, Hold, Pause)),
	patient(4, ticking(2, given(2, worlds("two of a line and late messages", gate.MutexKind, 2, []Call{Lock, Lock}, []Call{Lock}, Break, Hold)))),
	given(2, ticking(1, worlds("simple line", gate.SimpleKind, 1, []Call{Lock, Lock}, []Call{Lock, Drop}, Break, LoseMessage, Hold))),
	given(2, ticking(1, worlds("simple line, refused", gate.SimpleKind, 1, []Call{Lock, Lock}, []Call{Lock, Drop}, ReadOnly, Misconf, NoPerm))),
	given(2, ticking(2, worlds("two of a simple line", gate.SimpleKind, 2, []Call{Lock}, []Call{Lock}, Break, Pause, Die))),
	beside(1, given(1, ticking(2, worlds("simple line beside an outsider", gate.SimpleKind, 1, []Call{Lock, Lock}, []Call{TryLock, TryFixed}, Break, Hold)))),
	given(2, worlds("fenced line", gate.FencedKind, 1, []Call{Lock, Lock}, []Call{Lock, Drop}, Break, LoseMessage, Hold)),
	given(2, worlds("fenced line refused", gate.FencedKind, 1, []Call{Lock, LockFixed}, []Call{Lock, ForceUnlock}, ReadOnly, OutOfMemory, TwiceMessage, LoseKey)),
	given(2, worlds("fenced line announced", gate.FencedKind, 1, []Call{Lock, Lock}, []Call{Lock, Lock}, LoseMessage, TwiceMessage)),
	beside(1, given(1, worlds("fenced line beside an outsider", gate.FencedKind, 1, []Call{Lock, Lock}, []Call{Lock, TryLock}, Break, LoseMessage, Pause))),
	given(2, worlds("two of a fenced line", gate.FencedKind, 2, []Call{Lock}, []Call{Lock}, Break, LoseMessage, Hold, Pause)),
	patient(5, given(2, ticking(5, worlds("line and late messages", gate.MutexKind, 1, []Call{Lock, Lock}, []Call{Lock, Lock}, Hold)))),
	given(2, worlds("fair claims", gate.FairKind, 1, []Call{Lock, Lock}, []Call{Lock, Drop}, Break, LoseMessage, Hold)),
	given(2, worlds("fair claims of four", gate.FairKind, 1, []Call{Lock, Lock}, []Call{Lock, Lock}, TwiceMessage, LoseKey, Pause)),
	given(2, worlds("fair claims forced", gate.FairKind, 1, []Call{Lock, TryLock}, []Call{Lock, ForceUnlock}, LoseMessage, ReadOnly, BreakSubscription)),
	given(2, worlds("fair claims beside a fixed lease", gate.FairKind, 1, []Call{Lock, LockFixed}, []Call{Lock, Close}, PauseInTurn, Down, Die)),
	given(1, worlds("fair claims beside none", gate.FairKind, 1, []Call{Lock, Lock}, []Call{Lock, Lock}, Break, LoseMessage)),
	given(2, worlds("two of fair claims", gate.FairKind, 2, []Call{Lock}, []Call{Lock}, Break, LoseMessage, Hold, Pause)),
	given(3, threeEngines("fair claims of three", gate.FairKind, []Call{Lock}, []Call{Lock}, []Call{Lock, Drop}, Break, LoseMessage, Die)),
	given(3, threeEngines("line of three", gate.MutexKind, []Call{Lock}, []Call{Lock}, []Call{Lock, Drop}, Break, LoseMessage, Die)),
	beside(1, given(2, threeEngines("line of two beside an outsider", gate.MutexKind, []Call{Lock}, []Call{Lock}, []Call{Lock}, Break, LoseMessage, Hold))),
	given(3, threeEngines("line of three, held up", gate.MutexKind, []Call{Lock}, []Call{Lock}, []Call{Lock}, Hold, BreakSubscription, Down)),
	given(3, threeEngines("line of three, given up", gate.MutexKind, []Call{Lock}, []Call{Lock, Drop}, []Call{Lock, Drop}, Hold, LoseMessage)),
	given(3, threeEngines("line of three that close", gate.MutexKind, []Call{Lock}, []Call{Lock, Close}, []Call{Lock, Close}, Hold, Break)),
	given(3, threeEngines("line of three, forced", gate.MutexKind, []Call{Lock}, []Call{Lock}, []Call{Lock, ForceUnlock}, Break, Pause)),
	given(3, threeEngines("line of three, mixed", gate.MutexKind, []Call{Lock}, []Call{LockFixed}, []Call{Lock}, Break, LoseMessage, Die)),
	given(3, threeEngines("fenced line of three", gate.FencedKind, []Call{Lock}, []Call{Lock}, []Call{Lock, Drop}, Break, LoseMessage, Die)),
	given(3, ticking(1, threeEngines("line of three that refuses", gate.MutexKind, []Call{Lock}, []Call{Lock}, []Call{Lock}, ReadOnly, LoseKey))),
	given(1, threeEngines("line of three, woken", gate.MutexKind, []Call{Lock}, []Call{Lock}, []Call{Lock, Drop}, Break, LoseMessage, Die)),
	given(3, faulty(0, threeEngines("line of three, round and round", gate.MutexKind, []Call{Lock, Lock}, []Call{Lock, Lock}, []Call{Lock, Lock}))),
	beside(1, given(2, ticking(2, threeEngines("line beside one that polls", gate.MutexKind, []Call{Lock}, []Call{Lock, Drop}, []Call{TryLock, TryFixed}, Break, Die)))),
	beside(1, given(2, threeEngines("line beside an outsider, held up", gate.MutexKind, []Call{Lock}, []Call{Lock, Drop}, []Call{Lock}, Hold, BreakSubscription, Die))),
	beside(1, given(2, threeEngines("fenced line beside an outsider of two", gate.FencedKind, []Call{Lock}, []Call{Lock}, []Call{LockFixed}, Hold, Die))),
	given(2, ticking(1, worlds("line and least times", gate.MutexKind, 1, []Call{Lock, Lock, LockBriefly, DropFirst}, []Call{Lock}, Pause))),
	given(3, ticking(0, threeEngines("fair claims forced twice", gate.FairKind, []Call{Lock, Lock}, []Call{Lock}, []Call{ForceUnlock, ForceUnlock}, Hold))),
	counted(1, worlds("line of a semaphore", gate.SemaphoreKind, 1, []Call{Acquire, Give}, []Call{Acquire, Drop}, Break, Hold, LoseMessage)),
	counted(1, worlds("line of a semaphore, given up", gate.SemaphoreKind, 1, []Call{AcquireTwo, Acquire, DropFirst, Give}, []Call{Acquire, Give}, Break, Down, ReadOnly)),
	counted(1, ticking(2, threeEngines("line of a semaphore of three", gate.SemaphoreKind, []Call{AcquireTwo, Give}, []Call{Acquire, Give}, []Call{Acquire, Drop}, Break, Hold, Die))),
	counted(1, worlds("line of permits", gate.PermitKind, 1, []Call{Acquire, Acquire}, []Call{Acquire, Drop}, Break, Hold, LoseMessage)),
	counted(1, ticking(2, threeEngines("line of permits of three", gate.PermitKind, []Call{Acquire}, []Call{Acquire}, []Call{Acquire, Drop}, Break, Pause, Die))),
	counted(2, ticking(2, threeEngines("line of permits of three, mixed", gate.PermitKind, []Call{AcquireTwo, Drop}, []Call{Acquire}, []Call{AcquireTwo}, Break, BreakSubscription))),
	counted(2, beside(1, ticking(2, threeEngines("line of permits beside an outsider", gate.PermitKind, []Call{Acquire}, []Call{AcquireTwo}, []Call{AcquireTwo}, Break, Hold)))),
	counted(2, ticking(1, worlds("limit", gate.PermitKind, 1, []Call{LimitTwo, LimitTwo}, []Call{LimitOne}, Hold, LoseKey))),
	counted(2, ticking(1, worlds("limit beside permits", gate.PermitKind, 1, []Call{LimitTwo, Acquire}, []Call{LimitOne, Drop}, Break, OpenSlot))),
	counted(1, worlds("line of permits and an open slot", gate.PermitKind, 1, []Call{Acquire, Acquire}, []Call{Acquire}, OpenSlot)),
	given(2, worlds("line and an open slot", gate.MutexKind, 1, []Call{Lock, Lock}, []Call{Lock}, OpenSlot)),
	given(2, worlds("fenced line and an open slot", gate.FencedKind, 1, []Call{Lock, Lock}, []Call{Lock}, OpenSlot)),

	// Names of one call, and the hash slot of one on its way.
	wide("two names of a mutex and an open slot", gate.MutexKind, []Call{TryLock}, OpenSlot, ShutSlot),
	wide("two names of a fenced and an open slot", gate.FencedKind, []Call{TryLock}, OpenSlot, ShutSlot),

	// Beside a publisher, who says two things.
	publishing(2, given(2, ticking(1, worlds("fenced line beside a publisher", gate.FencedKind, 1, []Call{Lock, Lock}, []Call{Lock}, LoseMessage)))),
	publishing(2, given(2, ticking(1, worlds("fenced line beside a publisher, held up", gate.FencedKind, 1, []Call{Lock, Lock}, []Call{Lock}, Hold)))),
	publishing(2, given(2, ticking(1, worlds("line beside a publisher", gate.MutexKind, 1, []Call{Lock, Lock}, []Call{Lock}, LoseMessage, Hold)))),
	publishing(2, given(2, ticking(1, worlds("fair claims beside a publisher", gate.FairKind, 1, []Call{Lock, Lock}, []Call{Lock}, LoseMessage, Hold)))),
	publishing(2, ticking(1, worlds("read-write beside a publisher", gate.RWKind, 1, []Call{Read}, []Call{Write}, Hold))),
	counted(1, publishing(2, ticking(1, worlds("semaphore beside a publisher", gate.SemaphoreKind, 1, []Call{Acquire, Give}, []Call{Acquire}, Hold)))),
	counted(1, publishing(2, ticking(1, worlds("permits beside a publisher", gate.PermitKind, 1, []Call{Acquire}, []Call{Acquire}, Hold)))),
	[]*World{{
		Name: "line in every order", Kind: gate.MutexKind, Engines: 2, Names: 1, Handoff: 10 * time.Millisecond, Given: 2,
		Programs: [][]Call{{Lock, Lock}, {Lock}}, MostTicks: 2, EveryOrder: true,
	}, {
		Name: "fair claims in every order", Kind: gate.FairKind, Engines: 2, Names: 1, Handoff: 10 * time.Millisecond, Given: 2,
		Programs: [][]Call{{Lock, Lock}, {Lock}}, MostTicks: 2, EveryOrder: true,
	}, {
		Name: "mutex in every order", Kind: gate.MutexKind, Engines: 2, Names: 1, Handoff: 10 * time.Millisecond,
		Programs: [][]Call{{Lock, Lock}, {Lock}}, MostTicks: 2, EveryOrder: true,
	}, {
		Name: "fair in every order", Kind: gate.FairKind, Engines: 2, Names: 1, Handoff: 10 * time.Millisecond,
		Programs: [][]Call{{Lock, Lock}, {Lock}}, MostTicks: 2, EveryOrder: true,
	}, {
		Name: "latch, standing still", Kind: gate.LatchKind, Engines: 1, Names: 1, Count: 3,
		Programs: [][]Call{{CountDown}}, Faults: []Fault{Break, PauseInTurn, Delay}, MostFaults: 3, MostTicks: 3, EveryOrder: true,
	}, {
		Name: "semaphore, standing still", Kind: gate.SemaphoreKind, Engines: 1, Names: 1, Count: 1,
		Programs: [][]Call{{Acquire, Give}}, Faults: []Fault{Break, PauseInTurn, Delay}, MostFaults: 3, MostTicks: 3, EveryOrder: true,
	}},
)

// worlds are two engines and one name, and a program of calls for each.
func worlds(name string, kind gate.Kind, most int, a, b []Call, may ...Fault) []*World {
	return []*World{{
		Name: name, Kind: kind, Engines: 2, Names: 1, Handoff: 10 * time.Millisecond,
		Programs: [][]Call{a, b}, Faults: may, MostFaults: most, MostTicks: 3, Patience: 3,
	}}
}

// wide are an engine and two names in a cluster, and calls in any order.
func wide(name string, kind gate.Kind, may []Call, faults ...Fault) []*World {
	return []*World{{
		Name: name, Kind: kind, Engines: 1, Names: 2, Handoff: 10 * time.Millisecond, Wide: true, EveryOrder: true,
		Calls: may, Faults: faults, MostCalls: 2, MostFaults: 1, MostTicks: 1, Patience: 3,
	}}
}

// given is givenTo for all of them.
func given(engines int, all []*World) []*World {
	for _, w := range all {
		givenTo(engines, w)
	}
	return all
}

// threeEngines is as worlds, with another engine.
func threeEngines(name string, kind gate.Kind, a, b, c []Call, may ...Fault) []*World {
	all := worlds(name, kind, 1, a, b, may...)
	all[0].Engines, all[0].Programs = 3, append(all[0].Programs, c)
	return all
}

// beside makes so many engines, from the last on, outsiders.
func beside(outsiders int, all []*World) []*World {
	for _, w := range all {
		w.Outsiders = outsiders
	}
	return all
}

// faulty has so many faults happen.
func faulty(faults int, all []*World) []*World {
	for _, w := range all {
		w.MostFaults = faults
	}
	return all
}

func counted(count int64, all []*World) []*World {
	for _, w := range all {
		w.Count = count
	}
	return all
}

// patient has what failed or was held up work again, or arrive, only after so many calls, unlocks and steps of time.
func patient(most int, all []*World) []*World {
	for _, w := range all {
		w.Patience = most
	}
	return all
}

// ticking has time pass so often.
func ticking(most int, all []*World) []*World {
	for _, w := range all {
		w.MostTicks = most
	}
	return all
}

// publishing has a publisher say so much.
func publishing(most int, all []*World) []*World {
	for _, w := range all {
		w.MostPublished = most
	}
	return all
}

// atOnce has no time pass, and a HandoffTime of which half is over as soon as it begins: a tenure that changed hands often enough is
// confirmed ahead.
func atOnce(all []*World) []*World {
	for _, w := range all {
		w.Handoff, w.MostTicks = 1, 0
	}
	return all
}

// BigWorlds are walked through at random.
var BigWorlds = []*World{
	big("mutex", gate.MutexKind, LockFast, LockStaying, TryStaying, Detach, Adopt, Lock, LockOwned, LockFixed, TryLock, TryFixed, TryOwned, Extend, Drop, ForceUnlock, Close),
	givenBig("line", 4), bigLine("line of eight", 8, 0), bigLine("line of seven beside an outsider", 7, 1), besideBig(1, givenBig("line beside an outsider", 3)),
	givenTo(3, big("fenced", gate.FencedKind, LockStaying, TryStaying, Detach, Adopt, Lock, LockOwned, LockFixed, TryLock, TryFixed, Extend, Drop, ForceUnlock, Close)),
	big("spin", gate.SpinKind, LockStaying, TryStaying, Detach, Adopt, Lock, LockOwned, LockFixed, TryLock, Extend, Drop, ForceUnlock, Close),
	givenTo(3, big("simple", gate.SimpleKind, LockStaying, TryStaying, Detach, Adopt, Lock, LockOwned, LockFixed, TryLock, TryFixed, TryOwned, Extend, Drop, ForceUnlock, Close)),
	givenTo(3, big("fair", gate.FairKind, LockFast, LockStaying, TryStaying, Detach, Adopt, Lock, LockOwned, LockFixed, TryLock, TryFixed, Extend, Drop, ForceUnlock, Close)),
	givenTo(3, big("read-write", gate.RWKind, Read, Write, ReadOwned, WriteOwned, TryRead, TryWrite, Drop, Close)),
	givenTo(3, big("read-write line", gate.RWKind, Read, Write, Read, Write, TryRead, Drop, DropFirst, ForceUnlock, Close)),
	bigCount("permits", gate.PermitKind, Acquire, AcquireTwo, TryAcquire, LimitTwo, LimitThree, Release, Drop, Close),
	bigCount("semaphore", gate.SemaphoreKind, AcquireFast, Acquire, AcquireTwo, TryAcquire, Give, Drop, Close),
	failing(bigCount("permits in line", gate.PermitKind, Acquire, Acquire, AcquireTwo, TryAcquire, Drop, DropFirst, Close), Break, BreakSubscription, Down, Pause),
	failing(bigCount("semaphore in line", gate.SemaphoreKind, Acquire, AcquireTwo, TryAcquire, Give, Drop, DropFirst, Close), Break, BreakSubscription, Down, Pause),
	bigCount("latch", gate.LatchKind, Await, CountDown, Drop, Close),
}

// allFaults are those that a world without replicas may have.
var allFaults = []Fault{
	Break, Down, Twice, BreakSubscription, LoseMessage, TwiceMessage, ReadOnly, NoReplicas, Misconf, OutOfMemory, NoPerm,
	LoseKey, Failover1, Failover2, Pause, PauseInTurn, Die, Delay, OpenSlot,
}

// once are the faults without Twice. No connection delivers a command twice whose answer came; owners make it harmless in spite
// of that, but for a waiter who so gets into the queue of a fair lock again, and for what has no owner.
func once() []Fault {
	return slices.DeleteFunc(slices.Clone(allFaults), func(f Fault) bool { return f == Twice })
}

func big(name string, kind gate.Kind, calls ...Call) *World {
	w := &World{
		Name: "big " + name, Kind: kind, Engines: 4, Names: 3, Handoff: 10 * time.Millisecond, EveryOrder: true,
		Calls: calls, Faults: allFaults, MostCalls: 50, MostFaults: 10, MostTicks: 60, MostPublished: 20,
	}
	if kind != gate.RWKind && kind >= gate.FairKind {
		w.Faults = once()
	}
	return w
}

// givenTo lets so many engines be given a lock by a message.
func givenTo(engines int, w *World) *World {
	w.Given = engines
	return w
}

// givenBig is a world of mutexes in which so many engines can be given a lock by a message.
func givenBig(name string, engines int) *World {
	return givenTo(engines, big(name, gate.MutexKind, LockStaying, LockBriefly, Detach, Adopt, Lock, Lock, LockOwned, LockFixed, TryLock, TryOwned, Extend, Drop, DropFirst, ForceUnlock, Close))
}

func besideBig(outsiders int, w *World) *World { return beside(outsiders, []*World{w})[0] }

// bigLine is a world of one mutex that so many engines want, and so many outsiders.
func bigLine(name string, engines, outsiders int) *World {
	w := givenBig(name, engines-1) // one is only woken
	w.Engines, w.Outsiders, w.Names = engines+outsiders, outsiders, 1
	return w
}

func bigCount(name string, kind gate.Kind, calls ...Call) *World {
	w := big(name, kind, calls...)
	w.Names, w.Count = 1, 3
	return w
}

// limits reports whether calls set how many permits there are: Count at most.
func (w *World) limits() bool {
	limit := func(c Call) bool { return requests[c].limit != 0 }
	return slices.ContainsFunc(slices.Concat(append(w.Programs[:len(w.Programs):len(w.Programs)], w.Calls)...), limit)
}

// failing has only these faults happen.
func failing(w *World, may ...Fault) *World {
	w.Faults = may
	return w
}

func worldNamed(name string) *World {
	for _, all := range [][]*World{SmallWorlds, BigWorlds} {
		for _, w := range all {
			if w.Name == name {
				return w
			}
		}
	}
	return nil
}
