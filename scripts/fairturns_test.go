package scripts_test

import "github.com/wheellock/wheellock/scripts"

// turn is a call about a line, and what comes of it.
type turn struct {
	name, before string
	owner        string // has the lock before; empty: it is free
	call         []any  // ask, release or leave, and its arguments
	reply        int64
	after        string
	has          string // has the lock afterwards
}

func ask(id int, place string, n, first int) []any {
	return []any{scripts.FairAsk, id, place, n, first}
}

func leave(n, first int) []any { return []any{scripts.FairLeave, n, first} }

func release(owner string, first int) []any { return []any{scripts.FairRelease, owner, first} }

// args are those of the call.
func (c *turn) args() []any {
	switch a := c.call[1:]; c.call[0].(scripts.Script).Name {
	case "fair_ask":
		return []any{frozenNow, "me", 3_600_000, "PUBLISH", a[0], a[1], hour, a[2], a[3], "calls", 0}
	case "fair_leave":
		return []any{"PUBLISH", "me", a[0], a[1], "calls"}
	default:
		return []any{"PUBLISH", "me", a[0], a[1], hour, "calls"}
	}
}

// A waiter is good for 5 minutes to Redisson, which purges the head only and counts each place from the one before it. Ours are
// good for as long as their engine lives.
var turns = []turn{
	{"who joins an empty queue is good for 5 minutes", "", "java:9", ask(0, "TRY", 3, 1), 0, "me:1+300000 me:2+300000 me:3+300000 | me+3600000", "java:9"},
	{"behind one of Redisson's from then on", "java:1+200000", "java:9", ask(0, "TRY", 1, 1), 0, "java:1+200000 me:1+500000 | me+3600000", "java:9"},
	{"behind one of Redisson's that is nearly over", "java:1+1", "java:9", ask(0, "TRY", 1, 1), 0, "java:1+1 me:1+300001 | me+3600000", "java:9"},
	{"behind one of ours no later", "me:1+400000 | me+5", "java:9", ask(0, "TRY", 1, 2), 0, "me:1+400000 me:2+400000 | me+3600000", "java:9"},
	{"nor earlier than 5 minutes", "me:1+200000 | me+5", "java:9", ask(0, "TRY", 1, 2), 0, "me:1+200000 me:2+300000 | me+3600000", "java:9"},
	{"who joins twice stands once", "me:1+300000 | me+5", "java:9", ask(0, "TRY", 2, 1), 0, "me:1+300000 me:2+300000 | me+3600000", "java:9"},
	{"an old head of ours is lifted", "me:1+149999 me:2+300000 | me+5", "java:9", ask(1, "OLD", 0, 0), -1, "me:1+300000 me:2+300000 | me+3600000", "java:9"},
	{"also when it stands alone", "me:1+149999 | me+5", "java:9", ask(1, "OLD", 0, 0), -1, "me:1+300000 | me+3600000", "java:9"},
	{"one without an end gets none", "you:1? java:1+300000 me:1+300000 | me+5 you+5", "java:9", ask(1, "OLD", 0, 0), -1,
		"you:1? java:1+300000 me:1+300000 | you+5 me+3600000", "java:9"},
	{"a head of ours that is not", "me:1+150000 me:2+300000 | me+5", "java:9", ask(1, "OLD", 0, 0), -1, "me:1+150000 me:2+300000 | me+3600000", "java:9"},
	{"an old tail of ours is lifted", "me:1+200000 me:2+149999 | me+5", "java:9", ask(1, "OLD", 0, 0), -1, "me:1+200000 me:2+300000 | me+3600000", "java:9"},
	{"a tail of ours that is not", "me:1+200000 me:2+150000 | me+5", "java:9", ask(1, "OLD", 0, 0), -1, "me:1+200000 me:2+150000 | me+3600000", "java:9"},
	{"what stands between them is left", "me:1+200000 me:2+100 me:3+200000 | me+5", "java:9", ask(1, "OLD", 0, 0), -1,
		"me:1+200000 me:2+100 me:3+200000 | me+3600000", "java:9"},
	{"a tail of Redisson's is left", "me:1+200000 java:1+100 | me+5", "java:9", ask(1, "OLD", 0, 0), -1, "me:1+200000 java:1+100 | me+3600000", "java:9"},
	{"a head of Redisson's is left", "java:1+100 me:1+200000 | me+5", "java:9", ask(1, "OLD", 0, 0), -1, "java:1+100 me:1+200000 | me+3600000", "java:9"},
	{"those of Redisson's behind an old head move with it", "me:1+100 java:1+300100 java:2+600100 | me+5", "java:9", ask(1, "OLD", 0, 0), -1,
		"me:1+300000 java:1+600000 java:2+900000 | me+3600000", "java:9"},
	{"one of Redisson's further back does not", "me:1+100 me:2+300000 java:2+600100 | me+5", "java:9", ask(1, "OLD", 0, 0), -1,
		"me:1+300000 me:2+300000 java:2+600100 | me+3600000", "java:9"},

	{"a head of Redisson's that is over goes", "java:1+0 me:1+300000 | me+5", "java:9", ask(1, "OLD", 0, 0), -1, "me:1+300000 | me+3600000", "java:9"},
	{"also when it stands alone", "java:1+0", "", ask(1, "TRY", 0, 0), 1, "", "me:1"},
	{"one that is not stays", "java:1+1 me:1+300000 | me+5", "java:9", ask(1, "OLD", 0, 0), -1, "java:1+1 me:1+300000 | me+3600000", "java:9"},
	{"so one whose id has no colon", "odd+0 me:1+300000 | me+5", "java:9", ask(1, "OLD", 0, 0), -1, "me:1+300000 | me+3600000", "java:9"},
	{"one without an end stays", "java:1? me:1+300000 | me+5", "java:9", ask(1, "OLD", 0, 0), -1, "java:1? me:1+300000 | me+3600000", "java:9"},
	{"the head of a dead engine goes", "you:1+300000 me:1+300000 | me+5 you+0", "java:9", ask(1, "OLD", 0, 0), -1, "me:1+300000 | you+0 me+3600000", "java:9"},
	{"that of a living one stays", "you:1+300000 me:1+300000 | me+5 you+1", "java:9", ask(1, "OLD", 0, 0), -1, "you:1+300000 me:1+300000 | you+1 me+3600000", "java:9"},
	{"an engine that has been dead for 10 minutes is forgotten", "me:1+300000 | me+5 you-600000 old-599999", "java:9", ask(1, "OLD", 0, 0), -1,
		"me:1+300000 | old-599999 me+3600000", "java:9"},
	{"Redisson's behind a dead one of ours gets its own wait", "you:1+300000 java:1+600000 java:2+900000 | you+0", "", ask(0, "TRY", 0, 0), 0,
		"java:1+300000 java:2+600000 | you+0 me+3600000", ""},
	{"also when that moves it by a millisecond", "you:1-1 java:1+299999 | you+0", "", ask(0, "TRY", 0, 0), 0, "java:1+300000 | you+0 me+3600000", ""},
	{"and when that is a millisecond", "you:1+300000 java:1+300001 | you+0", "", ask(0, "TRY", 0, 0), 0, "java:1+1 | you+0 me+3600000", ""},
	{"a whole one, when it has none of its own", "you:1+300000 java:1+300000 | you+0", "", ask(0, "TRY", 0, 0), 0, "java:1+300000 | you+0 me+3600000", ""},
	{"so when it ends before", "you:1+300000 java:1+200000 | you+0", "", ask(0, "TRY", 0, 0), 0, "java:1+300000 | you+0 me+3600000", ""},
	{"but not when that is over: it is of an engine of ours that nobody remembers", "you:1+300000 he:1+0 java:1+100000 | you+0", "", ask(0, "TRY", 0, 0), 0,
		"java:1+100000 | you+0 me+3600000", ""},
	{"so when it is not known from when on it counts", "you:1? java:1+200000 | you+0", "", ask(0, "TRY", 0, 0), 0, "java:1+300000 | you+0 me+3600000", ""},
	{"and it begins when the lease ends", "you:1+300000 java:1+600000 | you+0", "java:9 ends", ask(0, "TRY", 0, 0), 0,
		"java:1+370000 | you+0 me+3600000", "java:9"},
	{"ours behind a dead one is lifted", "you:1+300000 me:1+100 | you+0 me+5", "java:9", ask(0, "TRY", 0, 0), 0, "me:1+300000 | you+0 me+3600000", "java:9"},
	{"those before our first one have been given up", "me:1+300000 me:2+300000 me:3+300000 me:4+300000 | me+5", "java:9", ask(3, "OLD", 0, 0), -1,
		"me:3+300000 me:4+300000 | me+3600000", "java:9"},
	{"but not what has no number", "me:x+300000 me:3+300000 | me+5", "java:9", ask(3, "OLD", 0, 0), -1, "me:x+300000 me:3+300000 | me+3600000", "java:9"},
	{"nor those of others", "you:1+300000 me:3+300000 | me+5 you+5", "java:9", ask(3, "OLD", 0, 0), -1, "you:1+300000 me:3+300000 | you+5 me+3600000", "java:9"},
	{"who asks once has given up nobody", "me:1+300000 | me+5", "java:9", ask(3, "TRY", 0, 0), -1, "me:1+300000 | me+5", "java:9"},

	{"a free lock without a queue is taken at once", "", "", ask(1, "TRY", 0, 0), 1, "", "me:1"},
	{"also by the first who would join", "", "", ask(1, "NEW", 1, 1), 1, "", "me:1"},
	{"the others join", "", "", ask(1, "NEW", 3, 1), 1, "me:2+300000 me:3+300000 | me+3600000", "me:1"},
	{"also while another asks once", "", "", ask(1, "TRY", 1, 5), 1, "me:5+300000 | me+3600000", "me:1"},
	{"and when nobody is to take the lock", "", "", ask(0, "NEW", 1, 1), 0, "me:1+300000 | me+3600000", ""},
	{"who has it need not join", "", "me:1", ask(1, "NEW", 2, 1), 1, "me:2+300000 | me+3600000", "me:1"},
	{"who has it and asks again, for whom nobody waits, leaves nothing but the lock", "", "me:1", ask(1, "NEW", 1, 1), 1, "", "me:1"},
	{"nor does one who stood", "| me+5", "me:1", ask(1, "OLD", 0, 0), 1, "", "me:1"},
	{"the head takes a free lock", "me:1+300000 me:2+300000 | me+5", "", ask(1, "OLD", 0, 0), 1, "me:2+300000 | me+3600000", "me:1"},
	{"and a dead one of ours behind it is not lifted", "me:1+300000 you:1+100 me:2+300000 | me+5 you+0", "", ask(1, "OLD", 0, 0), 1,
		"you:1+100 me:2+300000 | you+0 me+3600000", "me:1"},
	{"and Redisson's behind it counts from the end of the new lease", "me:1+200000 java:1+500000 | me+5", "", ask(1, "OLD", 0, 0), 1,
		"java:1+370000 | me+3600000", "me:1"},
	{"who is not the head waits until the head is over", "java:1+5000 me:1+305000 | me+5", "", ask(1, "OLD", 0, 0), -5002,
		"java:1+5000 me:1+305000 | me+3600000", ""},
	{"also for a millisecond", "java:1+1 me:1+305000 | me+5", "", ask(1, "OLD", 0, 0), -3, "java:1+1 me:1+305000 | me+3600000", ""},
	{"for as long as its engine lives", "you:1+5000 me:1+305000 | me+5 you+7000", "", ask(1, "OLD", 0, 0), -7002,
		"you:1+300000 me:1+305000 | you+7000 me+3600000", ""},
	{"for 5 minutes from now on when that is not known", "java:1? me:1+305000 | me+5", "", ask(1, "OLD", 0, 0), -300002, "java:1+300000 me:1+305000 | me+3600000", ""},
	{"also of one who asks once", "java:1?", "", ask(1, "TRY", 0, 0), -300002, "java:1+300000", ""},
	{"who asks once hears so, too", "java:1+5000", "", ask(1, "TRY", 0, 0), -5002, "java:1+5000", ""},
	{"who stood and does not any more goes back to the head", "me:2+300000 | me+5", "java:9", ask(1, "OLD", 0, 0), -1,
		"me:1+300000 me:2+300000 | me+3600000", "java:9"},
	{"also who stood twice", "java:1+5000 me:1? me:1? | me+5", "java:9", ask(1, "OLD", 0, 0), -1, "me:1+300000 java:1+305000 | me+3600000", "java:9"},
	{"and Redisson's behind it keeps its own wait, which counted from the end of the lease", "java:1+370000 me:2+670000 java:2+970000 | me+5", "java:9 ends",
		ask(1, "OLD", 0, 0), -frozenTTL - 2, "me:1+300000 java:1+600000 me:2+900000 java:2+1200000 | me+3600000", "java:9"},
	{"who has a deadline and does not stand takes a lock for which nobody waits", "(me:1+300000) | me+5", "", ask(1, "OLD", 0, 0), 1,
		"(me:1+300000) | me+3600000", "me:1"},
	{"and takes the lock", "me:2+300000 | me+5", "", ask(1, "OLD", 0, 0), 1, "me:2+300000 | me+3600000", "me:1"},
	{"our first comes before a later one of ours", "me:2+300000 me:1+300000 | me+5", "", ask(1, "OLD", 0, 0), 1, "me:2+300000 | me+3600000", "me:1"},
	{"but not when it asks once", "me:2+300000 me:1+300000 | me+5", "", ask(1, "TRY", 0, 0), -7, "me:2+300000 me:1+300000 | me+5", ""},
	{"nor before one of others", "you:2+300000 me:1+300000 | me+5 you+9", "", ask(1, "OLD", 0, 0), -11, "you:2+300000 me:1+300000 | you+9 me+3600000", ""},
	{"where nobody stands nobody is kept alive", "", "java:9", ask(0, "TRY", 0, 0), 0, "", "java:9"},
	{"whatever is said of their places", "", "java:9", ask(0, "OLD", 0, 0), 0, "", "java:9"},

	{"who leaves is gone", "me:1+300000 me:2+300000 me:3+300000 | me+5", "java:9", leave(1, 2), 0, "me:1+300000 me:3+300000 | me+5", "java:9"},
	{"several leave", "me:1+300000 me:2+300000 me:3+300000 | me+5", "java:9", leave(2, 2), 0, "me:1+300000 | me+5", "java:9"},
	{"also who has only an end", "me:1+300000 (me:5+1) | me+5", "java:9", leave(1, 5), 0, "me:1+300000 | me+5", "java:9"},
	{"who stands behind one who leaves, and counted from one of Redisson's, gets no longer for it", "java:1+200000 me:1+500000 java:2+800000 | me+5", "java:9",
		leave(1, 1), 0, "java:1+200000 java:2+500000 | me+5", "java:9"},
	{"but where the one who leaves has no end nothing moves", "java:1+200000 me:1? java:2+500000 | me+5", "java:9", leave(1, 1), 0,
		"java:1+200000 java:2+500000 | me+5", "java:9"},
	{"behind two of ours nothing moves", "me:1+200000 me:2+500000 java:2+800000 | me+5", "java:9", leave(1, 2), 0, "me:1+200000 java:2+800000 | me+5", "java:9"},
	{"nor where the one who leaves ended first", "java:1+500000 me:1+200000 java:2+800000 | me+5", "java:9", leave(1, 1), 0,
		"java:1+500000 java:2+800000 | me+5", "java:9"},
	{"the last one takes the engines along", "me:1+300000 | me+5", "java:9", leave(1, 1), 0, "", "java:9"},
	{"and the dead behind it are gone", "me:1+300000 java:1+0 java:2+300000 | me+5", "java:9", leave(1, 1), 0, "java:2+300000 | me+5", "java:9"},
	{"who leaves frees what it got", "me:2+300000 | me+5", "me:1", leave(1, 1), 0, "me:2+300000 | me+5", ""},

	{"a release passes the lock on to the first of ours", "me:1+300000 me:2+300000 | me+5", "me:9", release("me:9", 1), 1 << 50, "me:2+300000 | me+5", "me:1"},
	{"and the next one, whose deadline is old, is lifted", "me:1+300000 you:1+100 me:2+300000 | me+5 you+9", "me:9", release("me:9", 1), 1 << 50,
		"you:1+300000 me:2+300000 | me+5 you+9", "me:1"},
	{"asked again it says so again", "me:2+300000 | me+5", "me:1", release("me:9", 1), 1 << 50, "me:2+300000 | me+5", "me:1"},
	{"not when another is the head", "java:1+300000 me:1+600000 | me+5", "me:9", release("me:9", 1), 0, "java:1+300000 me:1+600000 | me+5", ""},
	{"nor when nobody of ours waits", "me:1+300000 | me+5", "me:9", release("me:9", 0), 0, "me:1+300000 | me+5", ""},
	{"those before our first one have been given up here, too", "me:1+300000 me:2+300000 | me+5", "me:9", release("me:9", 2), 1 << 50, "", "me:2"},
	{"who has not the lock leaves the queue", "java:1+300000 me:9+600000 | me+5", "java:9", release("me:9", 0), -1, "java:1+300000 | me+5", "java:9"},
	{"of another engine it stays", "java:1+300000 you:9+600000 | you+5", "java:9", release("you:9", 0), -1, "java:1+300000 you:9+600000 | you+5", "java:9"},
	{"a release without a queue forgets the engines", "| me+5", "me:9", release("me:9", 0), 0, "", ""},
	{"a release of what another has passes nothing on", "me:1+300000 | me+5", "java:9", release("me:9", 1), -1, "me:1+300000 | me+5", "java:9"},
}
