//go:build !race

package futures

const raceDetector = false
