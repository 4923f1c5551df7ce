package flagset

import "strings"

// Suggest is " (did you mean one?)" for a mistyped word, or empty if none of the words that there are is near.
func Suggest(word string, all []string) string {
	best, least := "", max(1, len(word)/4)+1
	for _, one := range all {
		n := distance(word, one)
		if len(word) > 2 && strings.HasPrefix(one, word) {
			n = 1
		}
		if n < least {
			best, least = one, n
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + best + "?)"
}

// distance is how many bytes must be added, removed, changed or swapped with the next one to make one word of another.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1) // rows[i][j] is the distance of a[:i] and b[:j]
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					rows[i][j] = min(rows[i][j], 1+rows[i-2][j-2])
				}
			}
		}
	}
	return rows[len(a)][len(b)]
}
