package redistest

import (
	"io"
	"os/exec"
	"testing"
)

func TestChild(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) (*Child, io.WriteCloser, io.ReadCloser) {
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		return StartChild(t, cmd), in, out
	}
	t.Run("stands still while it is frozen, and goes on", func(t *testing.T) {
		c, in, out := start(t)
		if !c.Freeze() || !c.p.stopped() {
			t.Error("it is not frozen")
		}
		c.Thaw()
		got := make([]byte, 2)
		if _, err := in.Write([]byte("on")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, got); err != nil || string(got) != "on" {
			t.Errorf("read %q, %v", got, err)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		<-c.Done()
		if code := c.ExitCode(); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
	})
	t.Run("is gone when Kill returns, frozen or not", func(t *testing.T) {
		c, _, _ := start(t)
		if !c.Freeze() {
			t.Error("it is not frozen")
		}
		c.Kill()
		if code := c.ExitCode(); code != -1 {
			t.Errorf("exit code %d, want -1", code)
		}
		if c.Freeze() {
			t.Error("the dead were frozen")
		}
		c.Kill()
	})
}
