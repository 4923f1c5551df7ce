package futures

import (
	"context"
	"fmt"
	"testing"
)

// Whose cause says already that the context was cancelled is told the cause alone.
func TestACauseThatIsACancellationStandsAlone(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := fmt.Errorf("the caller has gone: %w", context.Canceled)
	cancel(cause)
	if err := ended(ctx); err != cause {
		t.Errorf("%v, want %v", err, cause)
	}
}
