package redisserver

import "testing"

func TestFreePortIsGivenOutOnce(t *testing.T) {
	seen := make(map[int]bool)
	for range 200 {
		port, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] || port < firstPort || port > lastPort {
			t.Fatalf("port %d given out twice or out of range", port)
		}
		seen[port] = true
	}
}
