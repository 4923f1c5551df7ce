package topology

import "testing"

// A node names hosts as it knows them: by nothing at all it means its own.
// invariant: command-follows-its-slot
func TestReadRedirect(t *testing.T) {
	for message, want := range map[string]Redirect{
		"MOVED 3999 127.0.0.1:6381":  {Slot: 3999, Addr: "127.0.0.1:6381"},
		"ASK 0 127.0.0.1:6381":       {Slot: 0, Addr: "127.0.0.1:6381", Ask: true},
		"MOVED 16383 :6381":          {Slot: 16383, Addr: "10.0.0.7:6381"},
		"MOVED 7 redis-2.local:6381": {Slot: 7, Addr: "redis-2.local:6381"},
		"MOVED 7 ::1:6381":           {Slot: 7, Addr: "[::1]:6381"},
		"MOVED 7 [::1]:6381":         {Slot: 7, Addr: "[::1]:6381"},
	} {
		if got, ok := ReadRedirect(message, "10.0.0.7:6379"); !ok || got != want {
			t.Errorf("ReadRedirect(%q) = %+v, %v; want %+v", message, got, ok, want)
		}
	}
	for _, message := range []string{"", "MOVED", "MOVED 7", "MOVED x 127.0.0.1:1", "MOVED 16384 127.0.0.1:1", "MOVED 7 host", "MOVED 7 ?:6379", "MOVEDTO 7 a:1", "ERR 7 a:1"} {
		if got, ok := ReadRedirect(message, "10.0.0.7:6379"); ok {
			t.Errorf("ReadRedirect(%q) = %+v, want none", message, got)
		}
	}
}

func FuzzReadRedirect(f *testing.F) {
	f.Add("MOVED 3999 127.0.0.1:6381", "10.0.0.7:6379")
	f.Add("ASK 1 :1", "")
	f.Fuzz(func(t *testing.T, message, asked string) {
		if r, ok := ReadRedirect(message, asked); ok && (r.Slot >= 16384 || r.Addr == "") {
			t.Errorf("ReadRedirect(%q, %q) = %+v", message, asked, r)
		}
	})
}
