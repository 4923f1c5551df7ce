//go:build !wheellock_plainsockets

package quietsocket

import (
	"os/exec"
	"testing"
)

// The build tag that turns the quiet sockets off builds, with the tests, and does what it says.
func TestThePlainBuildLeavesSocketsAlone(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-tags", "wheellock_plainsockets",
		"-run", "^(TestPlainSocketsAreLeftAlone|TestGuard)$", ".", "../respguard").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
