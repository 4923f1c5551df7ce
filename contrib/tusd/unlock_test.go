package wheeltus_test

import (
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"

	wheeltus "github.com/wheellock/wheellock/contrib/tusd"
)

// A holder may make way inside requestUnlock, as tusd's own lockers allow: Unlock does not wait for the call that it is in.
func TestRequestUnlockMayUnlock(t *testing.T) {
	t.Parallel()
	locker, err := wheeltus.New(testkit.Connect(t, redistest.Start(t).Addr()), wheeltus.Options{})
	testkit.Must(t, err)
	first, _ := locker.NewLock("a")
	second, _ := locker.NewLock("a") // NewLock never fails
	unlocked := make(chan error, 1)
	testkit.Must(t, first.Lock(t.Context(), func() { unlocked <- first.Unlock() }))
	testkit.Must(t, second.Lock(testkit.Soon(t), func() {}))
	if err := testkit.Receive(t, "Unlock inside requestUnlock", unlocked); err != nil {
		t.Error(err)
	}
	if err := second.Unlock(); err != nil {
		t.Error(err)
	}
}
