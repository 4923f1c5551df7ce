module github.com/wheellock/wheellock

go 1.25.0

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/RussellLuo/timingwheel v0.0.0-20220218152713-54845bda3108
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/panjf2000/ants/v2 v2.12.1
	github.com/redis/rueidis v1.0.79
	github.com/yuin/gopher-lua v1.1.1
	go.uber.org/atomic v1.12.0
	go.uber.org/goleak v1.3.0
	golang.org/x/net v0.57.0
	golang.org/x/sys v0.47.0
	golang.org/x/term v0.45.0
	pgregory.net/rapid v1.3.0
)

require golang.org/x/sync v0.19.0 // indirect
