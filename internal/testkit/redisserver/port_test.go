package redisserver

import "testing"

// Two that give out ports are as two processes.
func TestAPortIsGivenOutOnce(t *testing.T) {
	seen := make(map[int]bool)
	var theirs ports
	for i := range 400 {
		from := &ours
		if i%2 == 0 {
			from = &theirs
		}
		port, err := from.take()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] || port < firstPort || port > lastPort {
			t.Fatalf("port %d given out twice or out of range", port)
		}
		seen[port] = true
	}
	for _, claim := range theirs.claims {
		_ = claim.Close()
	}
}
