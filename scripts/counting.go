package scripts

import (
	_ "embed"
	"strconv"
	"time"
)

// The texts.
var (
	//go:embed counting.lua
	counting string
	//go:embed called.lua
	called string
	//go:embed take.lua
	take string
	//go:embed change.lua
	change string
	//go:embed count.lua
	count string
)

// The scripts of semaphores and latches. What they hold has no owner in Redis, so each call that changes
// something leaves a receipt (counting.lua): sent twice, it has its effect once.
var (
	Take          = made("take", counting, line, called, take)
	Give          = made("give", counting, line, called, change)
	AddPermits    = made("add_permits", counting, line, called, change)
	SetPermits    = made("set_permits", counting, line, called, change)
	DrainPermits  = made("drain_permits", counting, change)
	CountDown     = made("count_down", counting, change)
	SetCount      = made("set_count", counting, change)
	DeleteCount   = made("delete_count", counting, change)
	DeletePermits = made("delete_permits", counting, change)
	GetCount      = made("look", counting, count)
	Count         = made("count", counting, count)
)

// Runs are the callers for which a call takes permits, in the order of their queue: "<permits>x<how many>," for each run of those that want
// the same; of permits that expire "<permits>x<how many>x<lease in ms>,", and behind the last run of a limit "/" and its number.
type Runs string

// AppendRun appends to Runs so many callers that want so many permits each, with a lease if it is not 0.
func AppendRun(runs []byte, permits, callers int64, lease time.Duration) []byte {
	runs = append(strconv.AppendInt(runs, permits, 10), 'x')
	runs = strconv.AppendInt(runs, callers, 10)
	if lease != 0 {
		runs = strconv.AppendInt(append(runs, 'x'), lease.Milliseconds(), 10)
	}
	return append(runs, ',')
}

// AppendLimit appends to Runs how many permits the semaphore has from this call on, those that are held among them.
func AppendLimit(runs []byte, n int64) []byte { return strconv.AppendInt(append(runs, '/'), n, 10) }

// SemaphoreChannel is where permits are announced: the message is how many there are now, or, of permits that
// expire, how many came.
func SemaphoreChannel(name string) string { return PrefixName("redisson_sc", name) }

// LatchChannel is where a latch is announced: "0" when it has opened, "1" when it was set or deleted.
// Redisson puts the name into braces here even when it has some.
func LatchChannel(name string) string { return "redisson_countdownlatch__channel__{" + name + "}" }

// ReceiptKey is where an engine keeps the receipt of its last call on a name: a key of ours alone, in the
// name's hash slot. Not even the name's alias shares it.
func ReceiptKey(name, uuid string) string { return apart(name, "wheellock:receipt:"+uuid) }
