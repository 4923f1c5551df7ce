package notes

import (
	"runtime/debug"
	"strings"
)

// Version is what a program says of itself: the version of its module, or the revision that it was built from.
func Version(program string) string {
	said := []string{program}
	info, known := debug.ReadBuildInfo()
	if !known {
		return program + " (unknown version)"
	}
	if v := info.Main.Version; v != "" {
		said = append(said, v)
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			said = append(said, s.Value[:min(12, len(s.Value))])
		case s.Key == "vcs.modified" && s.Value == "true":
			said = append(said, "modified")
		}
	}
	return strings.Join(append(said, info.GoVersion), " ")
}
