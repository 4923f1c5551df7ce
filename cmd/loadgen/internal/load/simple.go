package load

import "github.com/wheellock/wheellock/engine"

// This is a file of its own because an older version has no simple locks: the test that builds this program with one leaves it out.

func init() { simpleMutex = (*engine.Engine).SimpleMutex }
