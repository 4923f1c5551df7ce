package gate

import "testing"

// The loop finds an entry by its alarm.
func TestTheAlarmOfAnEntryLeadsToIt(t *testing.T) {
	for kind, name := range kindNames {
		c := newBench(t, kind, 1).entry
		if c.Alarm.Value != c || c.Due != Never || !c.Machine.Idle() {
			t.Errorf("%s: a new entry is %+v", name, c)
		}
		c.Due = 7
		if c.Reuse("other", &Config{}); c.Alarm.Value != c || c.Due != Never || c.Name != "other" || c.Kind != kind {
			t.Errorf("%s: an entry that is used again is %+v", name, c)
		}
	}
}

// The value of a simple lock cannot be guessed from what Redis shows of the engine.
func TestTheOwnerOfASimpleLockHasASalt(t *testing.T) {
	for kind, want := range map[Kind]string{MutexKind: "u:7", RWKind: "u:7", SimpleKind: "u:7:salt"} {
		if is := string(kind.AppendOwner(nil, "u", "salt", 7)); is != want {
			t.Errorf("%s: the owner is %q, want %q", kindNames[kind], is, want)
		}
	}
}
