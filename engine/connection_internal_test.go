package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/dispatcher/rediserr"
)

// What Open says of a failure belongs to the group by which a caller decides, and advises only what may help.
func TestOpenSaysWhatToDo(t *testing.T) {
	o := &Options{}
	o.Redis.InitAddress = []string{"a:1"}
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, c := range []struct {
		err, group error
		hint       string
	}{
		{dial(fmt.Errorf("%w: gone", errCredentials)), ErrNotSent, ""},
		{dial(errors.New("refused")), ErrNotSent, " (is redis-server running there? Else set Options.Redis.InitAddress)"},
		{rediserr.Silent(dial(os.ErrDeadlineExceeded), "a:1", 0), ErrNotSent, " (is redis-server running there, and not stopped?)"},
		{dial(&net.DNSError{Err: "i/o timeout", Name: "a", IsTimeout: true}), ErrNotSent, " (is that the name of the server? Else set Options.Redis.InitAddress)"},
		{context.DeadlineExceeded, ErrUnavailable, " (is redis-server running there, and not stopped?)"},
		{fmt.Errorf("it lacks: %w", ErrRefused), ErrRefused, ""},
	} {
		got, want := connecting(o, c.err, ""), fmt.Errorf("%w: connecting to a:1: %w%s", c.group, following{c.err}, c.hint)
		if got.Error() != want.Error() || c.group != ErrNotSent && errors.Is(got, ErrNotSent) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	}
	for err, advised := range map[error]bool{
		dial(errors.New("refused")): true, rediserr.Silent(dial(os.ErrDeadlineExceeded), "b:1", 0): true, dial(&net.DNSError{Err: "no such host", Name: "b"}): true,
		dial(fmt.Errorf("%w: gone", errCredentials)): false, context.DeadlineExceeded: false,
	} {
		if got := connecting(o, err, "b:1"); strings.Contains(got.Error(), "the cluster announces this address") != advised || errors.Is(got, ErrNotSent) != (err != context.DeadlineExceeded) {
			t.Errorf("of an address that was announced: %v", got)
		}
	}
	o.Redis.Sentinel.MasterSet = "m"
	if got := connecting(o, context.DeadlineExceeded, ""); !strings.Contains(got.Error(), "and the master that they name?") {
		t.Errorf("with Sentinel: %v", got)
	}
}
