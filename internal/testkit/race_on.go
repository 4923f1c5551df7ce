//go:build race

package testkit

// RaceDetector reports whether the tests run under the race detector.
const RaceDetector = true
