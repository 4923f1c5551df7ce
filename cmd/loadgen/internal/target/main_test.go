package target

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The first argument of this test's program when it is started as another process.
const (
	keeperRole = "-keeper" // what loadgen starts
	ownerRole  = "-owner"  // a process with a private server, to be killed by a test
)

// TestMain looks for goroutines that were left behind. Those of ants' package-wide pool start with the program; a
// rueidis client that could not connect sleeps up to a second before it ends.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case keeperRole:
			os.Exit(Keep(os.Stdin, os.Stdout))
		case ownerRole:
			own()
		}
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}

// own starts a server, says where it is, and waits to be killed.
func own() {
	t, err := Own(context.Background(), []string{os.Args[0], keeperRole})
	if err != nil {
		panic(err)
	}
	json.NewEncoder(os.Stdout).Encode(t.Place)
	select {}
}
