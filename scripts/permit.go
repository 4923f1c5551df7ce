package scripts

import (
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

var (
	//go:embed permits.lua
	permits string
	//go:embed permit_id.lua
	permitID string
	//go:embed permit_one.lua
	onePermit string
)

// The scripts of permits that expire. They are set by that of semaphores.
var (
	PermitTake   = one(made("permit_take", counting, line, called, permits), permitID+onePermit)
	PermitRenew  = one(made("permit_renew", counting, permits), permitID)
	PermitFree   = one(made("permit_free", counting, line, called, permits), permitID+onePermit)
	PermitAdd    = made("permit_add", counting, line, called, change)
	PermitSet    = made("permit_set", counting, line, called, change)
	PermitDelete = made("permit_delete", counting, change)
	PermitCount  = made("permit_count", counting, count)
)

// PermitsKey is the sorted set of the permits that are held.
func PermitsKey(name string) string { return SuffixName(name, "timeout") }

// PermitHolds says which holds permits.lua renews or frees: "<number of the first id>,<how many>,<lease in ms>;" for each. What is freed has no
// lease, and number 0 stands for PermitIDs.
type PermitHolds string

// AppendPermitHold appends a hold to PermitHolds.
func AppendPermitHold(holds []byte, first uint64, n int64, lease time.Duration) []byte {
	holds = append(strconv.AppendUint(holds, first, 10), ',')
	holds = append(strconv.AppendInt(holds, n, 10), ',')
	return append(strconv.AppendInt(holds, lease.Milliseconds(), 10), ';')
}

// PermitIDs are permit ids one behind the other, as permits.lua takes them.
type PermitIDs string

// permitIDLength is that of a permit id, in bytes.
const permitIDLength = 16

// At is the id at index i.
func (p PermitIDs) At(i int) PermitIDs { return p[permitIDLength*i : permitIDLength*(i+1)] }

// PermitBytes is the first half of the permit ids of an engine: the first 8 bytes of its UUID.
func PermitBytes(uuid string) string {
	b, _ := hex.DecodeString(strings.ReplaceAll(uuid, "-", "")[:16])
	return string(b)
}

// PermitID is a permit id, as Redis has it.
func PermitID(uuid string, number uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte(PermitBytes(uuid)), number)
}

// PermitNumber is the number of a permit id of this engine; 0: it is somebody else's.
func PermitNumber(uuid string, id []byte) uint64 {
	if string(id[:8]) != PermitBytes(uuid) {
		return 0
	}
	return binary.BigEndian.Uint64(id[8:])
}
