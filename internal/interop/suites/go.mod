module github.com/wheellock/wheellock/internal/interop/suites

go 1.26.0

require (
	github.com/bsm/redislock v0.10.0
	github.com/go-co-op/gocron/v2 v2.21.2
	github.com/go-redsync/redsync/v4 v4.18.1
	github.com/google/uuid v1.6.0
	github.com/redis/go-redis/v9 v9.23.0
	github.com/redis/rueidis v1.0.79
	github.com/stretchr/testify v1.12.1
	github.com/tus/tusd/v2 v2.9.2
	github.com/wheellock/wheellock v0.1.0
	github.com/wheellock/wheellock/contrib/gocron v0.1.0
	github.com/wheellock/wheellock/contrib/tusd v0.1.0
	go.uber.org/goleak v1.3.0
	golang.org/x/sync v0.24.0
)

require (
	github.com/RussellLuo/timingwheel v0.0.0-20220218152713-54845bda3108 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/jonboulle/clockwork v0.5.0 // indirect
	github.com/panjf2000/ants/v2 v2.12.1 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/exp v0.0.0-20250106191152-7588d65b2ba8 // indirect
	golang.org/x/net v0.59.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace (
	github.com/wheellock/wheellock => ../../..
	github.com/wheellock/wheellock/contrib/gocron => ../../../contrib/gocron
	github.com/wheellock/wheellock/contrib/tusd => ../../../contrib/tusd
)
