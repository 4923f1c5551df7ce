// Package servers starts what the tests of a suite need, when it is asked for: Redis servers that die with the process, and engines.
package servers

import (
	"context"
	"os"
	"sync"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/testkit/redisserver"
)

var (
	mu      sync.Mutex // held while one starts; guards running
	running []*redisserver.Server
)

// Addr is the address of a server that nobody else uses: 0 is the first one, and so on.
func Addr(i int) string { return redisserver.Loopback(server(i).Port) }

func server(i int) *redisserver.Server {
	mu.Lock()
	defer mu.Unlock()
	for len(running) <= i {
		dir, err := os.MkdirTemp("", "suite")
		if err != nil {
			panic(err)
		}
		s := &redisserver.Server{Program: []string{"redis-server"}, Dir: dir}
		if err := s.Start(context.Background()); err != nil {
			panic(err)
		}
		running = append(running, s)
	}
	return running[i]
}

// Open opens an engine, which waits for a busy machine. What is refused is an error.
func Open(redis rueidis.ClientOption, change ...func(*engine.Options)) (*engine.Engine, error) {
	opts := engine.Options{Redis: redis, AnswerTimeout: testkit.Patience}
	for _, c := range change {
		c(&opts)
	}
	return testkit.Open(context.Background(), func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, opts) })
}

// Engine opens one on a server.
func Engine(i int) *engine.Engine {
	e, err := Open(rueidis.ClientOption{InitAddress: []string{Addr(i)}})
	if err != nil {
		panic(err)
	}
	return e
}
