package child

import (
	"io"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

func TestChild(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) (*Process, io.WriteCloser, io.ReadCloser) {
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		c, err := Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Kill)
		return c, in, out
	}
	t.Run("stands still while it is frozen, and goes on", func(t *testing.T) {
		c, in, out := start(t)
		if c.Freeze() != nil || !c.stopped() {
			t.Error("it is not frozen")
		}
		if err := c.Thaw(); err != nil {
			t.Error(err)
		}
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
		if c.Freeze() != nil {
			t.Error("it is not frozen")
		}
		c.Kill()
		if code := c.ExitCode(); code != -1 {
			t.Errorf("exit code %d, want -1", code)
		}
		if c.Freeze() == nil {
			t.Error("the dead were frozen")
		}
		c.Kill()
	})
}

func TestLauncherEndsWithItsLastChild(t *testing.T) {
	var own launcher
	for range 3 { // it starts again after each end
		one, two := exec.Command("sleep", "60"), exec.Command("sleep", "60")
		for _, cmd := range []*exec.Cmd{one, two} {
			dieWithParent(cmd)
			if err := own.start(cmd); err != nil {
				t.Fatal(err)
			}
		}
		for _, cmd := range []*exec.Cmd{one, two} {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			own.release()
		}
		select {
		case <-own.stopped:
		default:
			t.Fatal("the launching goroutine outlived its children")
		}
	}
	if err := own.start(exec.Command("/no/such/program")); err == nil {
		t.Fatal("a program that does not exist was started")
	}
	if own.alive != 0 {
		t.Errorf("%d children after a failed start, want 0", own.alive)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
