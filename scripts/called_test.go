package scripts_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

var (
	semaphoreChannel = scripts.SemaphoreChannel(one)
	permitLine       = scripts.LineKey(one)
)

// callTime is CALL of called.lua, othersTime OTHERS, and slotTime SLOT, in ms.
const (
	callTime   = 200
	othersTime = 5000
	slotTime   = 40
)

// queueing is a semaphore of the tests whose waiting engines stand in line. For its scripts time stands still.
type queueing struct {
	*box
	expire bool // its permits expire
	calls  *int // so many were made

	collects int // 1: who asks collects
}

// onBothKinds runs a test on both servers, for permits that expire and for those that do not.
func onBothKinds(t *testing.T, test func(t *testing.T, q *queueing)) {
	onBoth(t, func(t *testing.T, b *box) {
		for name, expire := range map[string]bool{"permits": false, "permits that expire": true} {
			t.Run(name, func(t *testing.T) { test(t, &queueing{box: b, expire: expire}) })
		}
	})
}

// fresh is the semaphore with so many free permits and nobody in line, for another test.
func (q *queueing) fresh(t *testing.T, free int) *queueing {
	t.Helper()
	q = &queueing{q.box.fresh(t), q.expire, new(int), 0}
	q.must("SET", one, strconv.Itoa(free))
	return q
}

// run runs a part of a test on a semaphore with so many free permits.
func (q *queueing) run(t *testing.T, name string, free int, test func(t *testing.T, q *queueing)) {
	t.Run(name, func(t *testing.T) { test(t, q.fresh(t, free)) })
}

// asks asks for n permits, and for a place for so many; 0: for none.
func (q *queueing) asks(engine string, n, place int) scripts.Reply {
	q.Helper()
	*q.calls++
	return q.asksBy(engine, *q.calls, 0, n, place)
}

// asksBy is asks by the call of a number; again: it was sent before.
func (q *queueing) asksBy(engine string, number, again, n, place int) scripts.Reply {
	q.Helper()
	receipt := scripts.ReceiptKey(one, engine)
	if q.expire {
		keys := []string{one, permitKeys[1], receipt, permitLine}
		return scripts.Reply(number64(q.box, q.eval(frozen(scripts.PermitTake), keys,
			"PUBLISH", 0, scripts.PermitBytes(engine), engine, 100*number, again, leased(n), place, q.collects, semaphoreChannel)))
	}
	callers := ""
	if n > 0 {
		callers = fmt.Sprint(n, "x1,")
	}
	return scripts.Reply(number64(q.box, q.eval(frozen(scripts.Take), []string{one, receipt, permitLine},
		"PUBLISH", 0, engine, number, again, callers, place, q.collects, semaphoreChannel)))
}

// takes is asks of an engine that is to get them.
func (q *queueing) takes(engine string, n, place int) {
	q.Helper()
	if reply := q.asks(engine, n, place); reply < 1 {
		q.Errorf("%s is answered %d, want %d permits", engine[:1], reply, n)
	}
}

// isRefused is asks of an engine that is to get none, and then has this place.
func (q *queueing) isRefused(engine string, n, place int, want scripts.Place) {
	q.Helper()
	if reply := q.asks(engine, n, place); reply >= 1 || reply.Fault() != scripts.None || reply.Place() != want {
		q.Errorf("%s is answered %d: %+v, want %+v", engine[:1], reply, reply.Place(), want)
	}
}

// gives adds permits, as an engine without a place.
func (q *queueing) gives(n int) string {
	q.Helper()
	return q.givesAfter(0, n)
}

// givesAfter does so after so many ms.
func (q *queueing) givesAfter(ms, n int) string {
	q.Helper()
	*q.calls++
	script := scripts.Give
	if q.expire {
		script = scripts.PermitAdd
	}
	return q.eval(frozenAfter(script, ms), poolKeys, "PUBLISH", 0, *q.calls, n, semaphoreChannel)
}

// takesUnseen takes permits as a client of Redisson does.
func (q *queueing) takesUnseen(n int) { q.must("DECRBY", one, strconv.Itoa(n)) }

// hears subscribes to an engine's inbox.
func (q *queueing) hears(engine string) func() string {
	q.Helper()
	inbox := scripts.Inbox(semaphoreChannel, engine)
	heard := q.listen(inbox)
	return func() string { return q.said(inbox, heard) }
}

// stand are the engines in line, the first first: "a1" is ann's place for one permit.
func (q *queueing) stand(want string) {
	q.Helper()
	var all []string
	for _, place := range q.inLine() {
		_, permits, _ := strings.Cut(strings.TrimSuffix(place, " 1"), ":")
		all = append(all, place[:1]+permits)
	}
	if got := strings.Join(all, " "); got != want {
		q.Errorf("in line stand %q, want %q", got, want)
	}
}

func permitPlace(engine string, permits int) string { return fmt.Sprintf("%s:%d 1", engine, permits) }

// isCalled compares when a place was called, in ms before now; -1: it is not.
func (q *queueing) isCalled(engine string, permits int, before int64) {
	q.Helper()
	score, _ := strconv.ParseInt(q.must("ZSCORE", permitLine, permitPlace(engine, permits)), 10, 64)
	if score >= 0 && before != -1 || score < 0 && score != before-frozenNow {
		q.Errorf("the place of %s has score %d, want that of a call %d ms ago (-1: of none)", engine[:1], score, before)
	}
}

// wasCalled has a place be one that was called so many ms ago.
func (q *queueing) wasCalled(engine string, permits int, before int64) {
	q.Helper()
	q.must("ZADD", permitLine, strconv.FormatInt(before-frozenNow, 10), permitPlace(engine, permits))
}

// The places of engines that wait for permits, and who leaves one.
func TestPlacesOfPermits(t *testing.T) {
	onBothKinds(t, func(t *testing.T, q *queueing) {
		q.run(t, "a refusal leaves a place at the end", 0, func(t *testing.T, q *queueing) {
			q.isRefused(ann, 3, 3, scripts.Place{Stands: true, New: true, Leads: true})
			q.isRefused(bob, 1, 1, scripts.Place{Stands: true, New: true})
			q.isRefused(bob, 1, 1, scripts.Place{Stands: true})
			q.isRefused(ann, 3, 3, scripts.Place{Stands: true, Leads: true})
			q.stand("a3 b1")
			q.lasts(permitLine, time.Minute)
			q.want(q.must("GET", one), "0", "the permits")
		})
		q.run(t, "who asks for no place gets none", 0, func(t *testing.T, q *queueing) {
			q.isRefused(ann, 1, 0, scripts.Place{})
			q.want(q.must("EXISTS", permitLine), "0", "EXISTS of the line")
			q.isRefused(bob, 1, 1, scripts.Place{Stands: true, New: true, Leads: true})
			q.isRefused(ann, 1, 0, scripts.Place{})
			q.stand("b1")
		})
		q.run(t, "a question makes the line last", 0, func(t *testing.T, q *queueing) {
			q.asks(ann, 1, 1)
			q.must("PEXPIRE", permitLine, "1000")
			q.asks(ann, 1, 1)
			q.lasts(permitLine, time.Minute)
			if ttl := q.thing(permitLine).ttl; ttl <= 1000 {
				t.Errorf("the line lasts for %d ms", ttl)
			}
		})
		q.run(t, "who takes them has no place any more", 0, func(t *testing.T, q *queueing) {
			q.hears(bob)
			q.asks(ann, 1, 1)
			q.asks(bob, 1, 1)
			q.takesUnseen(-2)
			q.takes(ann, 1, 1)
			q.stand("b1")
			q.takes(bob, 1, 1)
			q.want(q.must("EXISTS", permitLine), "0", "EXISTS of the line")
		})
		q.run(t, "a place for another number than is wanted now is changed when it is called", 1, func(t *testing.T, q *queueing) {
			q.hears(ann)
			heard := q.hears(bob)
			q.must("ZADD", permitLine, "1", permitPlace(ann, 1), "2", permitPlace(bob, 3))
			q.wasCalled(ann, 1, 0)
			q.collects = 1
			q.isRefused(ann, 2, 1, scripts.Place{Stands: true, New: true})
			q.stand("b3 a2")
			q.isCalled(ann, 2, -1)
			q.want(heard(), "0", "the inbox of the first")
		})
		q.run(t, "else it is changed where it stands, also when the answer to that was lost", 0, func(t *testing.T, q *queueing) {
			heard := q.hears(ann)
			q.must("ZADD", permitLine, "1", permitPlace(bob, 5), "2", permitPlace(ann, 3), "3", permitPlace(cid, 1))
			q.isRefused(ann, 1, 3, scripts.Place{Stands: true, New: true})
			q.isRefused(ann, 1, 3, scripts.Place{Stands: true, New: true})
			q.stand("b5 a1 c1")
			q.gives(1)
			q.want(heard(), "0", "the inbox")
		})
		q.run(t, "an engine may be called by an older place of its own", 2, func(t *testing.T, q *queueing) {
			q.hears(ann)
			heard := q.hears(bob)
			q.must("ZADD", permitLine, "1", permitPlace(ann, 1))
			q.wasCalled(ann, 2, 0)
			q.takes(ann, 1, 1)
			q.stand("")
			q.must("ZADD", permitLine, "1", permitPlace(ann, 3))
			q.wasCalled(ann, 1, 0)
			q.collects = 1
			q.isRefused(ann, 3, 3, scripts.Place{Stands: true, New: true, Leads: true})
			q.stand("a3")
			q.must("ZADD", permitLine, "2", permitPlace(bob, 1))
			q.wasCalled(ann, 3, 0)
			q.isRefused(ann, 0, 1, scripts.Place{})
			q.stand("b1")
			q.want(heard(), "0", "the inbox of the next")
		})
		q.run(t, "without a line nobody stands", 0, func(t *testing.T, q *queueing) {
			q.must("ZADD", permitLine, "1", permitPlace(bob, 1)) // another's
			keys, args := []string{one, poolKeys[1], one}, []any{"PUBLISH", 0, ann, 7, 0, "1x1,", 1, 0, semaphoreChannel}
			script, free := scripts.Take, scripts.Give
			if q.expire {
				script, free = scripts.PermitTake, scripts.PermitAdd
				keys, args = []string{one, permitKeys[1], poolKeys[1], one}, []any{"PUBLISH", 0, engineBytes, ann, 7, 0, leased(1), 1, 0, semaphoreChannel}
			}
			if reply := scripts.Reply(number(t, q.eval(frozen(script), keys, args...))); reply > 0 || reply.Place().Stands {
				t.Errorf("it is answered %d", reply)
			}
			heard, all := q.hears(bob), q.listen(semaphoreChannel)
			q.want(q.eval(frozen(free), []string{one, poolKeys[1], one}, "PUBLISH", 0, 8, 1, semaphoreChannel), "1", "the release")
			q.want(heard(), "", "the inbox")
			q.want(q.said(semaphoreChannel, all), "1", "the channel")
		})
		for kind, create := range map[string][]string{
			"string": {"SET", permitLine, "x"}, "hash": {"HSET", permitLine, "x", "y"}, "list": {"RPUSH", permitLine, "x"},
		} {
			q.run(t, "a "+kind+" is no line", 0, func(t *testing.T, q *queueing) {
				q.must(create...)
				before := q.thing(permitLine)
				heard := q.listen(semaphoreChannel)
				q.isRefused(ann, 1, 1, scripts.Place{})
				q.want(q.gives(2), "1", "the release")
				q.want(q.said(semaphoreChannel, heard), "2", "the channel")
				q.takes(ann, 1, 1)
				q.isRefused(ann, 0, 1, scripts.Place{})
				if after := q.thing(permitLine); after != before {
					t.Errorf("it is %v, and was %v", after, before)
				}
			})
		}
	})
}

// Who is called when permits become free, and for how long nobody else takes any.
func TestCalls(t *testing.T) {
	onBothKinds(t, func(t *testing.T, q *queueing) {
		q.run(t, "a release calls the first and nobody else, and tells the channel", 0, func(t *testing.T, q *queueing) {
			first, second, all := q.hears(ann), q.hears(bob), q.listen(semaphoreChannel)
			q.asks(ann, 1, 1)
			q.asks(bob, 1, 1)
			q.want(q.gives(1), "1", "the release")
			q.want(first()+"/"+second(), "0/", "the inboxes")
			q.want(q.said(semaphoreChannel, all), "1", "the channel")
			q.stand("a1 b1")
			q.isCalled(ann, 1, 0)
			q.want(q.gives(1), "1", "the next release")
			q.want(first()+"/"+second(), "/", "the inboxes")
		})
		for slot, later := range []bool{false, true, false, true, true, false, true, false, true, true} {
			q.run(t, fmt.Sprintf("while others listen it is to ask after a pause, half of the time, %d", slot), 0, func(t *testing.T, q *queueing) {
				first, all := q.hears(ann), q.listen(semaphoreChannel)
				q.asks(ann, 1, 1)
				q.givesAfter(slotTime*slot, 1)
				q.want(first(), map[bool]string{false: "0", true: "2"}[later], "the inbox")
				q.want(q.said(semaphoreChannel, all), "1", "the channel")
				q.isCalled(ann, 1, -int64(slotTime*slot))
			})
		}
		q.run(t, "where nobody listens it is to ask at once", 0, func(t *testing.T, q *queueing) {
			first := q.hears(ann)
			q.asks(ann, 1, 1)
			q.givesAfter(slotTime, 1)
			q.want(first(), "0", "the inbox")
		})
		q.run(t, "the called one takes, and nobody else", 0, func(t *testing.T, q *queueing) {
			q.hears(ann)
			q.hears(bob)
			q.asks(ann, 1, 1)
			q.gives(1)
			q.isRefused(bob, 1, 1, scripts.Place{Stands: true, New: true})
			q.isRefused(cid, 1, 0, scripts.Place{})
			q.stand("a1 b1")
			q.want(q.must("GET", one), "1", "the permits")
			q.takes(ann, 1, 1)
			q.stand("b1")
			q.want(q.must("ZCOUNT", permitLine, fmt.Sprint(int64(1<<52)), "+inf"), "0", "since")
		})
		t.Run("for so long, and no longer", func(t *testing.T) {
			for before, others := range map[int64]bool{0: true, callTime - 1: true, callTime: false, 60_000: false, -1: false} {
				q := q.fresh(t, 1)
				heard := q.hears(cid)
				q.must("ZADD", permitLine, "2", permitPlace(cid, 5))
				q.wasCalled(ann, 1, before)
				if others {
					q.isRefused(bob, 1, 0, scripts.Place{})
					q.stand("a1 c5")
					continue
				}
				q.takes(bob, 1, 0)
				q.stand("c5") // the called one has let its time go by, or the clock was put back
				q.want(heard(), "1", "the inbox of the next")
			}
		})
		q.run(t, "who comes too late may take what is there, and what it leaves has no call", 1, func(t *testing.T, q *queueing) {
			q.wasCalled(ann, 1, callTime)
			q.takes(ann, 1, 1)
			q.want(q.must("EXISTS", permitLine), "0", "EXISTS of the line")
		})
		q.run(t, "who wants more than are free is called, and collects them: nobody else takes any", 0, func(t *testing.T, q *queueing) {
			first, second := q.hears(ann), q.hears(bob)
			q.asks(ann, 3, 3)
			q.asks(bob, 1, 1)
			q.gives(1)
			q.want(first()+"/"+second(), "0/", "the inboxes")
			q.wasCalled(ann, 3, callTime-1)
			q.collects = 1
			q.isRefused(ann, 3, 3, scripts.Place{Stands: true, Leads: true, Called: true})
			q.isCalled(ann, 3, 0)
			q.isRefused(bob, 1, 1, scripts.Place{Stands: true})
			q.isRefused(cid, 1, 0, scripts.Place{})
			q.gives(1)
			q.want(first()+"/"+second(), "/", "the inboxes, while they are too few")
			q.gives(1)
			q.want(first()+"/"+second(), "0/", "the inboxes, when they are enough")
			q.takes(ann, 3, 3)
			q.stand("b1")
		})
		q.run(t, "who collects no longer has no place, and the next is called", 0, func(t *testing.T, q *queueing) {
			heard := q.hears(bob)
			q.hears(ann)
			q.asks(ann, 3, 3)
			q.asks(bob, 3, 3)
			q.gives(1)
			q.isRefused(ann, 3, 3, scripts.Place{})
			q.want(heard(), "0", "the inbox")
			q.stand("b3")
		})
		q.run(t, "without permits nobody collects", 0, func(t *testing.T, q *queueing) {
			q.hears(ann)
			q.collects = 1
			q.asks(ann, 3, 3)
			q.isRefused(ann, 3, 3, scripts.Place{Stands: true, Leads: true})
			q.isCalled(ann, 3, -1)
		})
		q.run(t, "what stands there and is no place is passed over", 0, func(t *testing.T, q *queueing) {
			heard := q.hears(ann)
			q.must("ZADD", permitLine, "0", "what is no place")
			q.asks(ann, 1, 1)
			q.gives(1)
			q.want(heard(), "0", "the inbox")
		})
		q.run(t, "the dead are passed over, and go", 0, func(t *testing.T, q *queueing) {
			for _, dead := range []string{ann, bob, someUUID} {
				q.asks(dead, 1, 1)
			}
			q.asks(old, 2, 2)
			heard := q.hears(cid)
			q.asks(cid, 1, 1)
			q.gives(1)
			q.want(heard(), "0", "the inbox")
			q.stand("c1")
		})
		q.run(t, "only the dead stand", 0, func(t *testing.T, q *queueing) {
			for _, dead := range []string{ann, bob, cid} {
				q.asks(dead, 1, 1)
			}
			q.gives(1)
			q.want(q.must("EXISTS", permitLine), "0", "EXISTS of the line")
			q.takes(ann, 1, 1)
		})
		q.run(t, "of several permits what the called one leaves calls the next", 0, func(t *testing.T, q *queueing) {
			first, second := q.hears(ann), q.hears(bob)
			q.asks(ann, 2, 2)
			q.asks(bob, 1, 1)
			q.gives(3)
			q.want(first()+"/"+second(), "0/", "the inboxes after the release")
			q.takes(ann, 2, 2)
			q.want(first()+"/"+second(), "/0", "the inboxes after the take")
			q.isCalled(bob, 1, 0)
			q.takes(bob, 1, 1)
		})
		q.run(t, "if it leaves none the next is told that it is the first", 0, func(t *testing.T, q *queueing) {
			q.hears(ann)
			second := q.hears(bob)
			q.asks(ann, 1, 1)
			q.asks(bob, 2, 2)
			q.gives(1)
			q.takes(ann, 1, 1)
			q.want(second(), "1", "the inbox")
			q.isCalled(bob, 2, -1)
		})
		q.run(t, "the called one finds too few, and is the first again", 0, func(t *testing.T, q *queueing) {
			q.hears(ann)
			q.asks(ann, 1, 1)
			q.asks(bob, 1, 1)
			q.gives(1)
			q.takesUnseen(1)
			q.isRefused(ann, 1, 1, scripts.Place{Stands: true, Leads: true})
			q.stand("a1 b1")
			q.want(q.must("ZSCORE", permitLine, permitPlace(ann, 1)), "0", "the score")
			q.isRefused(bob, 1, 1, scripts.Place{Stands: true})
			q.stand("a1 b1")
		})
		q.run(t, "an added number that is still less than none calls nobody", -5, func(t *testing.T, q *queueing) {
			heard := q.hears(ann)
			q.asks(ann, 1, 1)
			q.gives(5)
			q.want(heard(), "", "the inbox")
			q.gives(1)
			q.want(heard(), "0", "the inbox")
		})
	})
}

// An engine that waits no longer gives up its place.
func TestPlacesAreGivenUp(t *testing.T) {
	onBothKinds(t, func(t *testing.T, q *queueing) {
		q.run(t, "the first is called, and the next is called in its place", 0, func(t *testing.T, q *queueing) {
			q.hears(ann)
			heard := q.hears(bob)
			q.asks(ann, 1, 1)
			q.asks(bob, 1, 1)
			q.gives(1)
			q.isRefused(ann, 0, 1, scripts.Place{})
			q.want(heard(), "0", "the inbox")
			q.stand("b1")
			q.isCalled(bob, 1, 0)
		})
		q.run(t, "the first goes, and the next is told that it is the first", 0, func(t *testing.T, q *queueing) {
			second, third := q.hears(bob), q.hears(cid)
			q.asks(ann, 1, 1)
			q.asks(bob, 1, 1)
			q.asks(cid, 1, 1)
			q.isRefused(ann, 0, 1, scripts.Place{})
			q.want(second()+"/"+third(), "1/", "the inboxes")
			q.stand("b1 c1")
		})
		q.run(t, "another than the first goes, and nobody is told", 0, func(t *testing.T, q *queueing) {
			first, third := q.hears(ann), q.hears(cid)
			q.asks(ann, 1, 1)
			q.asks(bob, 1, 1)
			q.asks(cid, 1, 1)
			q.isRefused(bob, 0, 1, scripts.Place{})
			q.want(first()+"/"+third(), "/", "the inboxes")
			q.stand("a1 c1")
		})
		q.run(t, "the next is dead, and the one behind it is told", 0, func(t *testing.T, q *queueing) {
			heard := q.hears(cid)
			q.asks(ann, 1, 1)
			q.asks(bob, 1, 1)
			q.asks(cid, 1, 1)
			q.isRefused(ann, 0, 1, scripts.Place{})
			q.want(heard(), "1", "the inbox")
			q.stand("c1")
		})
		q.run(t, "the next is dead, and the one behind it is called, to collect", 1, func(t *testing.T, q *queueing) {
			heard := q.hears(cid)
			q.asks(ann, 2, 2)
			q.must("ZADD", permitLine, "2", permitPlace(bob, 1))
			q.asks(cid, 2, 2)
			q.isRefused(ann, 0, 2, scripts.Place{})
			q.want(heard(), "0", "the inbox")
			q.stand("c2")
		})
		q.run(t, "twice, or without a place", 0, func(t *testing.T, q *queueing) {
			q.asks(ann, 1, 1)
			q.isRefused(ann, 0, 1, scripts.Place{})
			q.isRefused(ann, 0, 1, scripts.Place{})
			q.want(q.must("EXISTS", permitLine), "0", "EXISTS of the line")
		})
		q.run(t, "a place that is given up takes no permits", 5, func(t *testing.T, q *queueing) {
			q.must("ZADD", permitLine, "1", permitPlace(ann, 1))
			q.isRefused(ann, 0, 1, scripts.Place{})
			q.want(q.must("GET", one), "5", "the permits")
			q.want(q.must("KEYS", "*receipt*"), "[]", "the receipts")
		})
	})
}

// Where permits are taken for which nobody was called, others free more without calling, and the first is to listen to the channel.
func TestOthersAreExpected(t *testing.T) {
	onBothKinds(t, func(t *testing.T, q *queueing) {
		q.run(t, "who takes permits uncalled notes that", 0, func(t *testing.T, q *queueing) {
			q.hears(bob)
			q.asks(ann, 1, 1)
			q.asks(bob, 1, 1)
			q.takesUnseen(-1)
			q.takes(ann, 1, 1)
			q.want(q.must("ZSCORE", permitLine, "since"), fmt.Sprint(int64(1<<52)+frozenNow), "since")
			q.isRefused(bob, 1, 1, scripts.Place{Stands: true, Leads: true, Listens: true})
			q.isRefused(cid, 1, 1, scripts.Place{Stands: true, New: true})
		})
		q.run(t, "so does who has no place", 1, func(t *testing.T, q *queueing) {
			q.hears(bob)
			q.must("ZADD", permitLine, "1", permitPlace(bob, 3))
			q.takes(ann, 1, 0)
			q.isRefused(bob, 3, 3, scripts.Place{Stands: true, Leads: true, Listens: true})
		})
		t.Run("the first listens for so long, and no longer", func(t *testing.T) {
			for before, listens := range map[int]bool{0: true, othersTime - 1: true, othersTime: false} {
				q := q.fresh(t, 0)
				q.asks(bob, 1, 1)
				q.must("ZADD", permitLine, fmt.Sprint(int64(1<<52)+frozenNow-int64(before)), "since")
				q.isRefused(bob, 1, 1, scripts.Place{Stands: true, Leads: true, Listens: listens})
			}
		})
		q.run(t, "a line in which nobody stands is forgotten", 1, func(t *testing.T, q *queueing) {
			q.must("ZADD", permitLine, fmt.Sprint(int64(1<<52)+frozenNow), "since")
			q.takes(ann, 1, 0)
			q.want(q.must("EXISTS", permitLine), "0", "EXISTS of the line")
			q.must("ZADD", permitLine, fmt.Sprint(int64(1<<52)+frozenNow), "since")
			q.isRefused(ann, 1, 1, scripts.Place{Stands: true, New: true, Leads: true})
		})
	})
}

// A call that was sent before leaves the line as it is.
func TestCallsOfALineThatAreSentAgain(t *testing.T) {
	onBothKinds(t, func(t *testing.T, q *queueing) {
		q.run(t, "a refusal", 0, func(t *testing.T, q *queueing) {
			first := q.asksBy(ann, 7, 0, 1, 1)
			q.asks(bob, 1, 1)
			if again := q.asksBy(ann, 7, 1, 1, 1); again.Place() != (scripts.Place{Stands: true, Leads: true}) || !first.Place().New {
				t.Errorf("it is answered %+v, and again %+v", first.Place(), again.Place())
			}
			q.stand("a1 b1")
			q.takesUnseen(-1)
			if late := q.asksBy(ann, 7, 1, 1, 1); late >= 1 { // it has its receipt
				t.Errorf("a third time it is answered %d", late)
			}
			q.stand("a1 b1")
		})
		q.run(t, "a take", 2, func(t *testing.T, q *queueing) {
			heard := q.hears(bob)
			q.must("ZADD", permitLine, "1", permitPlace(ann, 1), "2", permitPlace(bob, 1))
			first := q.asksBy(ann, 7, 0, 1, 1)
			q.want(heard(), "0", "the inbox")
			if again := q.asksBy(ann, 7, 1, 1, 1); again != first {
				t.Errorf("it is answered %d, and again %d", first, again)
			}
			q.want(heard(), "", "the inbox")
			q.want(q.must("GET", one), "1", "the permits")
			q.stand("b1")
		})
		q.run(t, "a release", 0, func(t *testing.T, q *queueing) {
			first, second := q.hears(ann), q.hears(bob)
			q.asks(ann, 1, 1)
			q.asks(bob, 1, 1)
			q.gives(1)
			*q.calls--
			q.gives(1)
			q.want(first()+"/"+second(), "0/", "the inboxes")
			q.want(q.must("GET", one), "1", "the permits")
		})
	})
}

// What else frees permits calls the line, too.
func TestWhateverFreesPermitsCalls(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		for _, s := range []struct {
			name   string
			script scripts.Script
			setup  func(*box)
			keys   []string
			args   []any
			calls  bool
		}{
			{"add_permits", scripts.AddPermits, counted(1), poolKeys, []any{"PUBLISH", 0, 7, 1, semaphoreChannel}, true},
			{"add_permits, fewer than it wants", scripts.AddPermits, counted(0), poolKeys, []any{"PUBLISH", 0, 7, 1, semaphoreChannel}, true},
			{"add_permits of less than none", scripts.AddPermits, counted(2), poolKeys, []any{"PUBLISH", 0, 7, -2, semaphoreChannel}, false},
			{"set_permits", scripts.SetPermits, nil, poolKeys, []any{"PUBLISH", 0, 7, 2, semaphoreChannel}, true},
			{"set_permits for a minute", scripts.SetPermits, nil, poolKeys, []any{"PUBLISH", 0, 7, "2,60000", semaphoreChannel}, true},
			{"set_permits of none", scripts.SetPermits, nil, poolKeys, []any{"PUBLISH", 0, 7, 0, semaphoreChannel}, false},
			{"set_permits of what is there", scripts.SetPermits, counted(5), poolKeys, []any{"PUBLISH", 0, 7, 2, semaphoreChannel}, false},
			{"permit_add", scripts.PermitAdd, counted(1), poolKeys, []any{"PUBLISH", 0, 7, 1, semaphoreChannel}, true},
			{"permit_set", scripts.PermitSet, pooled(0, 2, 1), permitKeys, []any{"PUBLISH", 0, 7, 4, semaphoreChannel}, true},
			{"permit_set, of which all are held", scripts.PermitSet, pooled(0, 2, 1), permitKeys, []any{"PUBLISH", 0, 7, 2, semaphoreChannel}, false},
			{"permit_free", scripts.PermitFree, pooled(1, 2, 1), permitKeys, []any{"PUBLISH", 0, engineBytes, 7, "1,1,0;", "", semaphoreChannel}, true},
			{"permit_free by ids", scripts.PermitFree, pooled(0, 2, 1), permitKeys, []any{"PUBLISH", 0, engineBytes, 7, "0,2,0;", idOf(1) + idOf(2), semaphoreChannel}, true},
			{"permit_free, fewer than it wants", scripts.PermitFree, pooled(0, 2, 1), permitKeys, []any{"PUBLISH", 0, engineBytes, 7, "1,1,0;", "", semaphoreChannel}, true},
			{"permit_free of what is not held", scripts.PermitFree, pooled(5, 0, 1), permitKeys, []any{"PUBLISH", 0, engineBytes, 7, "1,1,0;", "", semaphoreChannel}, false},
			{
				"permit_take that finds others over, and too few for itself", scripts.PermitTake, pooled(0, 2, 3), permitKeys,
				[]any{"PUBLISH", 0, engineBytes, someUUID, 7, 0, leased(3), 0, 0, semaphoreChannel}, true,
			},
			{
				"permit_take that finds others over, and leaves some", scripts.PermitTake, pooled(1, 2, 3), permitKeys,
				[]any{"PUBLISH", 0, engineBytes, someUUID, 7, 0, leased(1), 0, 0, semaphoreChannel}, true,
			},
		} {
			b.run(t, s.name, func(t *testing.T, b *box) {
				if s.setup != nil {
					s.setup(b)
				}
				inbox := scripts.Inbox(semaphoreChannel, ann)
				heard := b.listen(inbox)
				b.must("ZADD", permitLine, "1", permitPlace(ann, 2))
				b.eval(s.script, s.keys, s.args...)
				b.want(b.said(inbox, heard), map[bool]string{true: "0"}[s.calls], "the inbox")
			})
		}
	})
}

// Many names: each has its line.
func TestCallsOfManyNames(t *testing.T) {
	b := realBox(t)
	inbox := scripts.Inbox(scripts.SemaphoreChannel(two), ann)
	heard := b.listen(inbox)
	b.must("ZADD", scripts.LineKey(two), "1", permitPlace(ann, 1))
	var keys []string
	args := []any{"PUBLISH", 0}
	for _, name := range []string{one, two, three} {
		keys = append(keys, name, scripts.ReceiptKey(name, someUUID), scripts.LineKey(name))
		args = append(args, 7, 1, scripts.SemaphoreChannel(name))
	}
	b.want(b.eval(scripts.Give, keys, args...), "0", "the release")
	b.want(b.said(inbox, heard), "0", "the inbox")
	b.want(b.must("EXISTS", scripts.LineKey(one), scripts.LineKey(three)), "0", "EXISTS of the other lines")
	args = []any{"PUBLISH", 0, someUUID}
	for _, name := range []string{one, two, three} {
		args = append(args, 8, 0, "1x1,", 1, 0, scripts.SemaphoreChannel(name))
	}
	b.want(b.eval(scripts.Take, keys, args...), fmt.Sprintf("[1 %d 1]", int64(-2<<43-1)), "the take") // of the second another is called
}

// Where Redis refuses a command of the line permits are taken and given as without one.
// invariant: reply-says-what-redis-holds
func TestWhoCannotBeCalled(t *testing.T) {
	b := realBox(t)
	lined := func(t *testing.T) (*box, func() string) {
		b := b.fresh(t)
		b.must("SET", one, "0")
		heard := b.listen(scripts.Inbox(semaphoreChannel, ann))
		b.must("ZADD", permitLine, "1", permitPlace(ann, 1))
		return b, func() string { return b.said(scripts.Inbox(semaphoreChannel, ann), heard) }
	}
	for command, heard := range map[string]string{"ZRANGE": "", "ZADD": "0", "ZREM": "0", "ZSCORE": "0", "PUBLISH": ""} {
		t.Run("a release while "+command+" is refused", func(t *testing.T) {
			b, said := lined(t)
			reply := b.eval(answering(scripts.Give, command, refusal(scripts.NoPerm)), poolKeys, "PUBLISH", 0, 7, 1, semaphoreChannel)
			b.want(reply, map[bool]string{true: "-2", false: "0"}[command == "PUBLISH"], "the release")
			b.want(b.must("GET", one), "1", "the permits")
			b.want(said(), heard, "the inbox")
		})
	}
	for command, stands := range map[string]bool{"ZRANGE": true, "ZADD": false, "PEXPIRE": false, "ZSCORE": true, "ZREM": true} {
		b.run(t, "a place while "+command+" is refused", func(t *testing.T, b *box) {
			b.must("SET", one, "0")
			ask := answering(scripts.Take, command, refusal(scripts.NoPerm))
			reply := scripts.Reply(number(t, b.eval(ask, poolKeys, "PUBLISH", 0, ann, 7, 0, "1x1,", 1, 0, semaphoreChannel)))
			if reply > 0 || reply.Fault() != scripts.None || reply.Place().Stands != stands {
				t.Errorf("answered %d: %+v", reply, reply.Place())
			}
			if got := len(b.inLine()); (got > 0) != stands {
				t.Errorf("%d stand in line", got)
			}
		})
	}
	t.Run("a place that is changed while ZADD is refused", func(t *testing.T) {
		b, _ := lined(t)
		b.must("ZADD", permitLine, "2", permitPlace(bob, 1))
		ask := answering(scripts.Take, "ZADD", refusal(scripts.NoPerm))
		reply := scripts.Reply(number(t, b.eval(ask, poolKeys, "PUBLISH", 0, ann, 7, 0, "2x1,", 1, 0, semaphoreChannel)))
		if reply.Place().Stands || len(b.inLine()) != 1 {
			t.Errorf("answered %d: %+v; in line stand %q", reply, reply.Place(), b.inLine())
		}
	})
	t.Run("a release without the right to TIME", func(t *testing.T) {
		b, _ := lined(t)
		user := b.limited(t, "&*", "~*", "+@all", "-time")
		b.want(user.eval(scripts.Give, poolKeys, "PUBLISH", 0, 7, 1, semaphoreChannel), "0", "the release")
		b.want(b.must("GET", one), "1", "the permits")
	})
}

// A place that a lock of the same name has left in the line is not one that permits are enough for.
// invariant: reply-says-what-redis-holds
func TestAPlaceOfALockIsNotCalled(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		for _, owner := range []string{bob + ":2:write", bob + ":2:r4nd0m"} {
			b := b.fresh(t)
			b.must("SET", one, "5")
			b.must("ZADD", poolKeys[2], "1", owner+" 77", "2", cid+":3 1")
			heard := b.listen(scripts.Inbox(channel, cid))
			b.want(b.eval(scripts.AddPermits, poolKeys, "PUBLISH", 0, 1, 1, channel), "0", owner, ": the call")
			b.want(b.said(scripts.Inbox(channel, cid), heard), "0", owner, ": the inbox")
		}
	})
}
