package scripts

import (
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

//go:embed permits.lua
var permits string

//go:embed permit_take.lua
var permitTake string

//go:embed permit_renew.lua
var permitRenew string

//go:embed permit_free.lua
var permitFree string

//go:embed permit_add.lua
var permitAdd string

//go:embed permit_count.lua
var permitCount string

// The scripts of permits that expire. They are set by that of semaphores.
var (
	PermitTake  = Script{"permit_take", prelude + receipt + permits + permitTake}
	PermitRenew = Script{"permit_renew", prelude + receipt + permits + permitRenew}
	PermitFree  = Script{"permit_free", prelude + receipt + permits + permitFree}
	PermitAdd   = Script{"permit_add", prelude + receipt + permitAdd}
	PermitCount = Script{"permit_count", prelude + receipt + permits + permitCount}
)

// PermitsKey is the sorted set of the permits that are held.
func PermitsKey(name string) string { return SuffixName(name, "timeout") }

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
