package scripts_test

import (
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// oddNames are names whose keys cannot share a hash slot, and names that look so.
var oddNames = map[string]bool{
	"": false, "stock": true, "stock:7": true, "{order}:7": true, "a{b}": true, "{a}{b}": true, "a{b}c}": true, "{{a}": true, "a{}}b}": false,
	"a}": false, "}": false, "a}b": false, "}{": false, "}{a}": true,
	"a{": false, "{": false, "{}": false, "{}x": false, "a{}b": false, "{}{x}": false,
}

func TestTogether(t *testing.T) {
	for name, want := range oddNames {
		if got := scripts.Together(name); got != want {
			t.Errorf("Together(%q) = %v, want %v", name, got, want)
		}
	}
}

// derived are all keys and channels of a name, but for its latch channel.
func derived(name string) []string {
	return []string{
		scripts.LockChannel(name), scripts.TokenKey(name), scripts.RWChannel(name), scripts.FairQueue(name), scripts.FairDeadlines(name),
		scripts.FairAlive(name), scripts.FairChannel(name, "uuid:7"), scripts.SemaphoreChannel(name), scripts.PermitsKey(name), scripts.ReceiptKey(name, "uuid"),
		scripts.NoteKey(name, "uuid:7"),
	}
}

// checkTogether proves a name that is taken in a cluster against slot, which says where a key lies.
func checkTogether(t *testing.T, name string, slot func(string) uint16) {
	t.Helper()
	keys := derived(name)
	if !scripts.Together(name) {
		return
	}
	if scripts.LatchTogether(name) {
		keys = append(keys, scripts.LatchChannel(name))
	}
	want := slot(name)
	for _, key := range keys {
		if got := slot(key); got != want {
			t.Errorf("%q lies in slot %d, its name %q in %d", key, got, name, want)
		}
	}
}

// FuzzHashSlot holds our slots against those of a real server, and with them the rule about names.
func FuzzHashSlot(f *testing.F) {
	for name := range oddNames {
		f.Add(name)
	}
	f.Add("123456789")
	f.Add(strings.Repeat("\xff\x00", 512))
	server := redistest.Start(f, "--cluster-enabled", "yes")
	f.Fuzz(func(t *testing.T, name string) {
		slot := func(key string) uint16 { return uint16(server.Do("CLUSTER", "KEYSLOT", key).Int) }
		if got, want := scripts.HashSlot(name), slot(name); got != want {
			t.Fatalf("HashSlot(%q) = %d, the server says %d", name, got, want)
		}
		checkTogether(t, name, slot)
	})
}

// Names of which every one has braces, on our own slots: many in little time.
func TestNamesThatAreTogether(t *testing.T) {
	const letters = "{}a"
	for n := range 3 * 3 * 3 * 3 * 3 * 3 {
		name := ""
		for range 6 {
			name += string(letters[n%3])
			n /= 3
			checkTogether(t, name, scripts.HashSlot)
		}
	}
}

func TestHashSlotAllocatesNothing(t *testing.T) {
	name := "{stock}:" + strings.Repeat("7", 100)
	if n := testing.AllocsPerRun(100, func() { scripts.HashSlot(name) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
