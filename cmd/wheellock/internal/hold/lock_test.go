package hold

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// A waiter for permits is told that all are held when they are, and not while there is another reason to wait.
func TestAllPermitsAreHeldWhenTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := enginetest.New(t, engine.Options{})
		var said bytes.Buffer
		l := &lock{settings: settings{name: "seats"}, permits: 2}
		go l.waits(t.Context(), &cli.Env{Name: "wheellock lock", Stderr: &said}, nil, e)
		for held, want := range []string{"", "", "wheellock lock: waiting for \"seats\": all of its 2 permits are held\n"} {
			if held > 0 {
				testkit.MustLock(t, e.Limit("seats", 2))
			}
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if said.String() != want {
				t.Errorf("with %d held it says %q, want %q", held, &said, want)
			}
		}
	})
}
