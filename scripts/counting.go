package scripts

import (
	_ "embed"
	"strconv"
)

//go:embed receipt.lua
var receipt string

//go:embed take.lua
var take string

//go:embed give.lua
var give string

//go:embed add_permits.lua
var addPermits string

//go:embed set_permits.lua
var setPermits string

//go:embed drain_permits.lua
var drainPermits string

//go:embed count_down.lua
var countDown string

//go:embed set_count.lua
var setCount string

//go:embed delete_count.lua
var deleteCount string

//go:embed get_count.lua
var look string

//go:embed count.lua
var count string

// The scripts of semaphores and latches. What they hold has no owner in Redis, so each call that changes
// something leaves a receipt (receipt.lua): sent twice, it has its effect once.
var (
	Take         = Script{"take", prelude + receipt + take}
	Give         = Script{"give", prelude + receipt + give}
	AddPermits   = Script{"add_permits", prelude + receipt + addPermits}
	SetPermits   = Script{"set_permits", prelude + receipt + setPermits}
	DrainPermits = Script{"drain_permits", prelude + receipt + drainPermits}
	CountDown    = Script{"count_down", prelude + receipt + countDown}
	SetCount     = Script{"set_count", prelude + receipt + setCount}
	DeleteCount  = Script{"delete_count", prelude + receipt + deleteCount}
	GetCount     = Script{"look", prelude + receipt + look}
	Count        = Script{"count", prelude + receipt + count}
)

// Runs says for whom take.lua takes permits: callers in the order of their queue, "<permits>x<how many>," for each run of
// those who want the same.
type Runs string

// AppendRun appends to Runs so many callers who want so many permits each.
func AppendRun(runs []byte, permits, callers int64) []byte {
	runs = append(strconv.AppendInt(runs, permits, 10), 'x')
	return append(strconv.AppendInt(runs, callers, 10), ',')
}

// SemaphoreChannel is where permits are announced: the message is how many there are now, or, of permits that
// expire, how many came.
func SemaphoreChannel(name string) string { return PrefixName("redisson_sc", name) }

// LatchChannel is where a latch is announced: "0" when it has opened, "1" when it was set or deleted.
// Redisson puts the name into braces here even when it has some.
func LatchChannel(name string) string { return "redisson_countdownlatch__channel__{" + name + "}" }

// ReceiptKey is where an engine keeps the receipt of its last call on a name: a key of ours alone, in the
// name's hash slot. Not even the name's alias shares it.
func ReceiptKey(name, uuid string) string { return apart(name, "wheellock:receipt:"+uuid) }
