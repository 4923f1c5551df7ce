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
	worlds("mutex stays", gate.MutexKind, 1, []Call{LockStaying, Lock}, []Call{Lock, TryStaying}, Break, Die),
	worlds("mutex detaches", gate.MutexKind, 1, []Call{Lock, Detach, Lock}, []Call{Adopt, Adopt}, Break, Hold),
	worlds("fenced detaches", gate.FencedKind, 1, []Call{Lock, Detach, Adopt}, []Call{Adopt}, Break, ReadOnly),
	worlds("fair stays", gate.FairKind, 1, []Call{LockStaying, Detach}, []Call{Lock, Adopt}, Break),
	worlds("fenced", gate.FencedKind, 1, []Call{Lock, LockFixed}, []Call{Lock, TryLock}, Break),
	worlds("spin", gate.SpinKind, 1, []Call{Lock, Lock}, []Call{Lock, TryFixed}, Break),
	worlds("fair", gate.FairKind, 1, []Call{Lock, Lock}, []Call{Lock, TryFixed}, Break),
	patient(5, worlds("fair, long under way", gate.FairKind, 1, []Call{Lock, Lock}, []Call{Lock}, Break)),
	worlds("read-write", gate.RWKind, 1, []Call{Read, Write}, []Call{Read, Write}, Break),
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
	claimed(2, worlds("claims", gate.MutexKind, 1, []Call{Lock, Lock}, []Call{Lock, Drop}, Break, LoseMessage, Hold)),
	claimed(2, worlds("claims paused", gate.MutexKind, 1, []Call{Lock, Lock}, []Call{Lock, TryFixed}, Pause, PauseInTurn, Die)),
	claimed(2, worlds("claims beside a fixed lease", gate.MutexKind, 1, []Call{Lock, LockFixed}, []Call{Lock, ForceUnlock}, Twice, TwiceMessage, LoseKey)),
	claimed(2, worlds("claims forced", gate.MutexKind, 1, []Call{Lock}, []Call{Lock, Lock, ForceUnlock}, LoseMessage, TwiceMessage, Break)),
	claimed(2, ticking(1, worlds("claims forced while asked", gate.MutexKind, 1, []Call{Lock}, []Call{Lock, Lock, ForceUnlock}, Hold))),
	claimed(2, worlds("claims refused", gate.MutexKind, 1, []Call{Lock, Close}, []Call{Lock, Lock}, ReadOnly, BreakSubscription, Failover1)),
	beside(2, claimed(1, worlds("claims beside none", gate.MutexKind, 1, []Call{Lock, Lock}, []Call{Lock, Lock}, Break, LoseMessage, Hold))),
	claimed(2, worlds("two of claims", gate.MutexKind, 2, []Call{Lock}, []Call{Lock}, Break, LoseMessage, Hold, Pause)),
	claimed(2, worlds("fenced claims", gate.FencedKind, 1, []Call{Lock, Lock}, []Call{Lock, Drop}, Break, LoseMessage, Hold)),
	claimed(2, worlds("fenced claims refused", gate.FencedKind, 1, []Call{Lock, LockFixed}, []Call{Lock, ForceUnlock}, ReadOnly, OutOfMemory, TwiceMessage, LoseKey)),
	claimed(2, worlds("fenced claims announced", gate.FencedKind, 1, []Call{Lock, Lock}, []Call{Lock, Lock}, LoseMessage, TwiceMessage)),
	beside(2, claimed(1, worlds("fenced claims beside none", gate.FencedKind, 1, []Call{Lock, Lock}, []Call{Lock, TryLock}, Break, LoseMessage, Pause))),
	claimed(2, worlds("two of fenced claims", gate.FencedKind, 2, []Call{Lock}, []Call{Lock}, Break, LoseMessage, Hold, Pause)),
	patient(5, claimed(2, ticking(5, worlds("claims and late messages", gate.MutexKind, 1, []Call{Lock, Lock}, []Call{Lock, Lock}, Hold)))),
	claimed(2, worlds("fair claims", gate.FairKind, 1, []Call{Lock, Lock}, []Call{Lock, Drop}, Break, LoseMessage, Hold)),
	claimed(2, worlds("fair claims of four", gate.FairKind, 1, []Call{Lock, Lock}, []Call{Lock, Lock}, TwiceMessage, LoseKey, Pause)),
	claimed(2, worlds("fair claims forced", gate.FairKind, 1, []Call{Lock, TryLock}, []Call{Lock, ForceUnlock}, LoseMessage, ReadOnly, BreakSubscription)),
	claimed(2, worlds("fair claims beside a fixed lease", gate.FairKind, 1, []Call{Lock, LockFixed}, []Call{Lock, Close}, PauseInTurn, Down, Die)),
	claimed(1, worlds("fair claims beside none", gate.FairKind, 1, []Call{Lock, Lock}, []Call{Lock, Lock}, Break, LoseMessage)),
	claimed(2, worlds("two of fair claims", gate.FairKind, 2, []Call{Lock}, []Call{Lock}, Break, LoseMessage, Hold, Pause)),
	claimed(3, threeEngines("fair claims of three", gate.FairKind, []Call{Lock}, []Call{Lock}, []Call{Lock, Drop}, Break, LoseMessage, Die)),
	claimed(3, threeEngines("claims of three", gate.MutexKind, []Call{Lock}, []Call{Lock}, []Call{Lock, Drop}, Break, LoseMessage, Die)),
	beside(3, claimed(2, threeEngines("claims of two beside one", gate.MutexKind, []Call{Lock}, []Call{Lock}, []Call{Lock}, Break, LoseMessage, Hold))),
	claimed(2, ticking(1, worlds("claims and least times", gate.MutexKind, 1, []Call{Lock, Lock, LockBriefly, DropFirst}, []Call{Lock}, Pause))),
	claimed(3, ticking(0, threeEngines("fair claims forced twice", gate.FairKind, []Call{Lock, Lock}, []Call{Lock}, []Call{ForceUnlock, ForceUnlock}, Hold))),
	claimed(2, worlds("claims and an open slot", gate.MutexKind, 1, []Call{Lock, Lock}, []Call{Lock}, OpenSlot)),
	claimed(2, worlds("fenced claims and an open slot", gate.FencedKind, 1, []Call{Lock, Lock}, []Call{Lock}, OpenSlot)),

	// Beside a publisher, who says two things.
	publishing(2, claimed(2, ticking(1, worlds("fenced claims beside a publisher", gate.FencedKind, 1, []Call{Lock, Lock}, []Call{Lock}, LoseMessage)))),
	publishing(2, claimed(2, ticking(1, worlds("fenced claims beside a publisher, held up", gate.FencedKind, 1, []Call{Lock, Lock}, []Call{Lock}, Hold)))),
	publishing(2, claimed(2, ticking(1, worlds("claims beside a publisher", gate.MutexKind, 1, []Call{Lock, Lock}, []Call{Lock}, LoseMessage, Hold)))),
	publishing(2, claimed(2, ticking(1, worlds("fair claims beside a publisher", gate.FairKind, 1, []Call{Lock, Lock}, []Call{Lock}, LoseMessage, Hold)))),
	publishing(2, ticking(1, worlds("read-write beside a publisher", gate.RWKind, 1, []Call{Read}, []Call{Write}, Hold))),
	counted(1, publishing(2, ticking(1, worlds("semaphore beside a publisher", gate.SemaphoreKind, 1, []Call{Acquire, Give}, []Call{Acquire}, Hold)))),
	counted(1, publishing(2, ticking(1, worlds("permits beside a publisher", gate.PermitKind, 1, []Call{Acquire}, []Call{Acquire}, Hold)))),
	[]*World{{
		Name: "claims in every order", Kind: gate.MutexKind, Engines: 2, Names: 1, Handoff: 10 * time.Millisecond, Claims: 2,
		Programs: [][]Call{{Lock, Lock}, {Lock}}, MostTicks: 2, EveryOrder: true,
	}, {
		Name: "fair claims in every order", Kind: gate.FairKind, Engines: 2, Names: 1, Handoff: 10 * time.Millisecond, Claims: 2,
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

// claimed is claimedBy for all of them.
func claimed(engines int, all []*World) []*World {
	for _, w := range all {
		claimedBy(engines, w)
	}
	return all
}

// threeEngines is as worlds, with another engine.
func threeEngines(name string, kind gate.Kind, a, b, c []Call, may ...Fault) []*World {
	all := worlds(name, kind, 1, a, b, may...)
	all[0].Engines, all[0].Programs = 3, append(all[0].Programs, c)
	return all
}

// beside makes one engine, counted from 1, an outsider to the scripts.
func beside(outsider int, all []*World) []*World {
	for _, w := range all {
		w.Outsider = outsider
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
	big("mutex", gate.MutexKind, LockStaying, TryStaying, Detach, Adopt, Lock, LockOwned, LockFixed, TryLock, TryFixed, TryOwned, Extend, Drop, ForceUnlock, Close),
	claimedBig("claims", 4), besideBig(4, claimedBig("claims beside one without", 3)),
	claimedBy(3, big("fenced", gate.FencedKind, LockStaying, TryStaying, Detach, Adopt, Lock, LockOwned, LockFixed, TryLock, TryFixed, Extend, Drop, ForceUnlock, Close)),
	big("spin", gate.SpinKind, LockStaying, TryStaying, Detach, Adopt, Lock, LockOwned, LockFixed, TryLock, Extend, Drop, ForceUnlock, Close),
	claimedBy(3, big("fair", gate.FairKind, LockStaying, TryStaying, Detach, Adopt, Lock, LockOwned, LockFixed, TryLock, TryFixed, Extend, Drop, ForceUnlock, Close)),
	big("read-write", gate.RWKind, Read, Write, ReadOwned, WriteOwned, TryRead, TryWrite, Drop, Close),
	bigCount("permits", gate.PermitKind, Acquire, AcquireTwo, TryAcquire, Release, Drop, Close),
	bigCount("semaphore", gate.SemaphoreKind, Acquire, AcquireTwo, TryAcquire, Give, Drop, Close),
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

// claimedBy lets so many engines have claims.
func claimedBy(engines int, w *World) *World {
	w.Claims = engines
	return w
}

// claimedBig is a world of mutexes in which so many engines have claims.
func claimedBig(name string, engines int) *World {
	return claimedBy(engines, big(name, gate.MutexKind, LockStaying, LockBriefly, Detach, Adopt, Lock, Lock, LockOwned, LockFixed, TryLock, TryOwned, Extend, Drop, DropFirst, ForceUnlock, Close))
}

func besideBig(outsider int, w *World) *World { return beside(outsider, []*World{w})[0] }

func bigCount(name string, kind gate.Kind, calls ...Call) *World {
	w := big(name, kind, calls...)
	w.Names, w.Count = 1, 3
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
