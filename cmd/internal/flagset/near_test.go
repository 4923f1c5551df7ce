package flagset

import "testing"

func TestSuggest(t *testing.T) {
	all := []string{"lock", "elect", "ls", "show", "force", "completion", "password-file", "wait"}
	for word, want := range map[string]string{
		"lokc": "lock", "locks": "lock", "sohw": "show", "l": "ls", "wiat": "wait", "pasword-fiel": "password-file", "password": "password-file", "compleiton": "completion",
		"unlock": "", "stock:7": "", "": "", "status": "", "x": "",
	} {
		if want != "" {
			want = " (did you mean " + want + "?)"
		}
		if got := Suggest(word, all); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
