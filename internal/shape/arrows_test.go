package shape

import "testing"

func TestBackward(t *testing.T) {
	for name, tt := range map[string]struct {
		uses map[use]bool
		want int
	}{
		"nothing":                {nil, 0},
		"a line":                 {map[use]bool{{"a", "b"}: true, {"b", "c"}: true, {"a", "c"}: true}, 0},
		"two who use each other": {map[use]bool{{"a", "b"}: true, {"b", "a"}: true}, 1},
		"a ring":                 {map[use]bool{{"a", "b"}: true, {"b", "c"}: true, {"c", "a"}: true}, 1},
		"two rings":              {map[use]bool{{"a", "b"}: true, {"b", "a"}: true, {"b", "c"}: true, {"c", "d"}: true, {"d", "c"}: true}, 2},
	} {
		if got := backward(tt.uses); got != tt.want {
			t.Errorf("%s: %d run back up, want %d", name, got, tt.want)
		}
	}
}
