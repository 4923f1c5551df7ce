package rueidislock

import "github.com/wheellock/wheellock/internal/interop/suites/servers"

var address = []string{servers.Addr(0)}
