package flight_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/contrib/flight"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// member is a process that calls Do for each line of its input, which says how its fn behaves, and answers with a line.
func member(addr string) {
	ctx := context.Background()
	option := rueidis.ClientOption{InitAddress: []string{addr}}
	e, err := engine.Open(ctx, engine.Options{Redis: option, Lease: 3 * time.Second})
	check(err)
	client, err := rueidis.NewClient(option)
	check(err)
	group, err := flight.New(e, client, flight.Options{Keep: time.Hour})
	check(err)
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		behaviour, key, _ := strings.Cut(in.Text(), " ")
		value, shared, err := group.Do(ctx, key, func(ctx context.Context) ([]byte, error) {
			run, err := client.Do(ctx, client.B().Incr().Key("runs:"+key).Build()).AsInt64()
			check(err)
			switch behaviour {
			case "hang":
				<-ctx.Done()
				return nil, ctx.Err()
			case "fail":
				return nil, errors.New("no value")
			}
			for { // until the test lets it: the others are to wait for it
				open, err := client.Do(ctx, client.B().Exists().Key("open").Build()).AsInt64()
				if check(err); open == 1 {
					return fmt.Appendf(nil, "run %d", run), nil
				}
			}
		})
		fmt.Printf("%s|%v|%v\n", value, shared, err)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// process is a member, as the test sees it.
type process struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Scanner
}

func startProcess(t *testing.T, server *redistest.Server) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), "FLIGHT_TEST_REDIS="+server.Addr()), os.Stderr
	in, err := p.cmd.StdinPipe()
	testkit.Must(t, err)
	out, err := p.cmd.StdoutPipe()
	testkit.Must(t, err)
	p.in, p.out = in, bufio.NewScanner(out)
	testkit.Must(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}

func (p *process) ask(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (p *process) hears(t *testing.T) string {
	t.Helper()
	if !p.out.Scan() {
		t.Fatalf("a process has ended: %v", p.out.Err())
	}
	return p.out.Text()
}

const fleetSize = 24

func startFleet(t *testing.T, server *redistest.Server) (fleet []*process) {
	t.Helper()
	for range fleetSize { // one by one: with their lease of 3 s a machine that starts all at once keeps some from an answer for too long
		p := startProcess(t, server)
		if said := p.hears(t); said != "ready" {
			t.Fatalf("a process said %q", said)
		}
		fleet = append(fleet, p)
	}
	return fleet
}

// Of 24 processes that ask at once, one computes, and all get its value.
func TestOneComputesForTheFleet(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	fleet := startFleet(t, server)
	for _, p := range fleet {
		p.ask(t, "work page")
	}
	redistest.Await(t, "all others to wait", func() bool { return inLine(server) >= fleetSize-1 })
	server.MustDo("SET", "open", "1")
	computed := 0
	for _, p := range fleet {
		switch said := p.hears(t); said {
		case "run 1|false|<nil>":
			computed++
		case "run 1|true|<nil>":
		default:
			t.Errorf("a process got %q", said)
		}
	}
	if runs := server.MustDo("GET", "runs:page").Text; runs != "1" || computed != 1 {
		t.Errorf("fn ran %s times, and %d processes say that they computed; want 1 and 1", runs, computed)
	}
}

// inLine is how many engines stand in the longest line.
func inLine(server *redistest.Server) (most int64) {
	for _, key := range server.Keys() {
		if strings.HasSuffix(key, ":wheellock:line") {
			most = max(most, server.MustDo("ZCARD", key).Int)
		}
	}
	return most
}

// If the process that computes dies, the next one computes; if its fn fails, the same.
func TestTheNextComputes(t *testing.T) {
	t.Parallel()
	for _, behaviour := range []string{"hang", "fail"} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			server.MustDo("SET", "open", "1")
			first, second := startProcess(t, server), startProcess(t, server)
			first.hears(t)
			second.hears(t)
			first.ask(t, behaviour+" page")
			redistest.Await(t, "the first to compute", func() bool { return server.MustDo("EXISTS", "runs:page").Int == 1 })
			second.ask(t, "work page")
			if behaviour == "hang" {
				testkit.Must(t, first.cmd.Process.Kill())
			} else if said := first.hears(t); said != "|false|no value" {
				t.Errorf("the first got %q", said)
			}
			if said := second.hears(t); said != "run 2|false|<nil>" {
				t.Errorf("the second got %q", said)
			}
		})
	}
}
