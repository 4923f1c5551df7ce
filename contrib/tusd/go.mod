module github.com/wheellock/wheellock/contrib/tusd

go 1.25.0

require (
	github.com/tus/tusd/v2 v2.9.2
	github.com/wheellock/wheellock v0.1.0
	golang.org/x/exp v0.0.0-20250106191152-7588d65b2ba8
)

require (
	github.com/RussellLuo/timingwheel v0.0.0-20220218152713-54845bda3108 // indirect
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/panjf2000/ants/v2 v2.12.1 // indirect
	github.com/redis/rueidis v1.0.79 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	golang.org/x/sync v0.19.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/wheellock/wheellock => ../..
