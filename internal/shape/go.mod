module github.com/wheellock/wheellock/internal/shape

go 1.26.0

require (
	github.com/redis/rueidis v1.0.79
	github.com/wheellock/wheellock v0.0.0
	golang.org/x/mod v0.42.0
	golang.org/x/tools v0.52.0
)

require (
	github.com/RussellLuo/timingwheel v0.0.0-20220218152713-54845bda3108 // indirect
	github.com/panjf2000/ants/v2 v2.12.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/wheellock/wheellock => ../..
