package shape

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
)

var (
	comment  = map[string]*regexp.Regexp{".go": regexp.MustCompile(`(?m)(?:^|\s)//(.*)$`), ".lua": regexp.MustCompile(`(?m)--(.*)$`), ".md": regexp.MustCompile(`(?m)^(.*)$`)}
	word     = regexp.MustCompile("`[^`]*`|\\pL+")
	relative = regexp.MustCompile(`(?i)^(who|whom|whose|whoever)$`)
)

// riddles are the packages and documents of which more than one word in 1,000 is who, whom, whose or whoever: mostly they begin a
// clause in the place of a noun. Of code the comments count, without tests.
func (c *code) riddles() (places []string, err error) {
	words, found := make(map[string]int), make(map[string]int)
	err = c.walk(written, prose, func(path, text string) error {
		kind, where := filepath.Ext(path), path
		if kind != ".md" {
			where = filepath.ToSlash(filepath.Dir(path))
		}
		for _, m := range comment[kind].FindAllStringSubmatch(text, -1) {
			for _, w := range word.FindAllString(m[1], -1) {
				words[where]++
				if relative.MatchString(w) {
					found[where]++
				}
			}
		}
		return nil
	})
	for where, n := range found {
		if 1000*n > words[where] {
			places = append(places, fmt.Sprintf("%s %.1f", where, 1000*float64(n)/float64(words[where])))
		}
	}
	slices.Sort(places)
	return places, err
}
