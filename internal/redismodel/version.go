package redismodel

import (
	"strconv"
	"strings"
)

// version is a Server's Version, read.
type version struct {
	text         string // that was read
	major, minor int
	number       int // REDIS_VERSION_NUM
}

const defaultVersion = "7.0.15"

// release is which version the server is of.
func (s *Server) release() *version {
	if s.known.number == 0 || s.known.text != s.Version {
		s.known = readVersion(s.Version)
	}
	return &s.known
}

// since reports whether the server is of this version or a later one.
func (s *Server) since(major, minor int) bool {
	v := s.release()
	return v.major > major || v.major == major && v.minor >= minor
}

func readVersion(text string) version {
	v := version{text: text}
	if text == "" {
		text = defaultVersion
	}
	var numbers [3]int
	for i, part := range strings.SplitN(text, ".", 3) {
		numbers[i], _ = strconv.Atoi(part)
	}
	v.major, v.minor = numbers[0], numbers[1]
	v.number = max(1, numbers[0]<<16|numbers[1]<<8|numbers[2])
	return v
}

// full is the version as a script sees it.
func (v *version) full() string {
	return strconv.Itoa(v.number>>16) + "." + strconv.Itoa(v.number>>8&255) + "." + strconv.Itoa(v.number&255)
}
