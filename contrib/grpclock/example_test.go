package grpclock_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"

	"github.com/wheellock/wheellock/contrib/grpclock"
)

// reports is a service whose calls take as long as another one of the same tenant.
type reports struct {
	healthpb.UnimplementedHealthServer
	client healthpb.HealthClient
}

func (r *reports) Check(ctx context.Context, request *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	again, _ := metadata.FromIncomingContext(ctx)
	_, err := r.client.Check(metadata.NewOutgoingContext(ctx, again), request)
	fmt.Println("another call meanwhile:", status.Code(err))
	return &healthpb.HealthCheckResponse{}, nil
}

// A tenant has at most two calls served at a time, in all processes. The third is told to come again.
func ExampleUnary() {
	redis := enginetest.Start() // in memory; a program calls engine.Open
	defer redis.Close()
	ctx := context.Background()
	e, err := redis.Open(ctx, engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	limit, err := grpclock.Unary(e, grpclock.Options{
		Key: func(ctx context.Context, method string, request any) string {
			if tenant := metadata.ValueFromIncomingContext(ctx, "tenant"); len(tenant) == 1 {
				return tenant[0]
			}
			return ""
		},
		N: func(tenant string) int { return 2 },
	})
	if err != nil {
		log.Fatal(err)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := healthpb.NewHealthClient(conn)
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(limit))
	healthpb.RegisterHealthServer(server, &reports{client: client})
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	_, err = client.Check(metadata.AppendToOutgoingContext(ctx, "tenant", "acme"), &healthpb.HealthCheckRequest{})
	fmt.Println("the call:", status.Code(err))
	// Output:
	// another call meanwhile: ResourceExhausted
	// another call meanwhile: OK
	// the call: OK
}
