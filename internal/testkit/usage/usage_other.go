//go:build !unix

package usage

import "time"

func ofSystem() (cpu time.Duration, maxRSS int64) { return 0, 0 }
