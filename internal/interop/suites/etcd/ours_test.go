package concurrency_test

import "github.com/wheellock/wheellock/internal/interop/suites/servers"

func exampleEndpoints() []string { return []string{servers.Addr(0)} }

func forUnitTestsRunInMockedContext(_, example func()) { example() }
