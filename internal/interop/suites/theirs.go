//go:build theirs

package suites

// What only the tests of others import: go mod tidy heeds every build tag, and does not see these tests.
import (
	_ "github.com/google/uuid"
	_ "github.com/stretchr/testify/assert"
	_ "github.com/stretchr/testify/require"
	_ "golang.org/x/sync/errgroup"
)
