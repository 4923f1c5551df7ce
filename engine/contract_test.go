package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestContractGroupsOfErrors(t *testing.T) {
	sentinels := []error{
		engine.ErrHeld, engine.ErrWaitTimeout,
		engine.ErrUnavailable, engine.ErrNotSent, engine.ErrUncertain, engine.ErrOverloaded, engine.ErrRefused, engine.ErrNotReplicated,
		engine.ErrLost, engine.ErrMaxHold, engine.ErrUnlocked,
		engine.ErrInvalid, engine.ErrForeignKey, engine.ErrDeadlock, engine.ErrClosed,
	}
	groups := map[error][]error{
		engine.ErrNotSent:       {engine.ErrUnavailable},
		engine.ErrUncertain:     {engine.ErrUnavailable},
		engine.ErrOverloaded:    {engine.ErrUnavailable},
		engine.ErrRefused:       {engine.ErrUnavailable},
		engine.ErrNotReplicated: {engine.ErrUnavailable},
		engine.ErrMaxHold:       {engine.ErrLost},
	}
	held := &engine.HeldError{Name: "stock:7", TTL: time.Second}
	groups[held] = []error{engine.ErrHeld}
	for _, err := range append(slices.Clone(sentinels), held) {
		for _, target := range sentinels {
			want := err == target || slices.Contains(groups[err], target)
			for _, err := range []error{err, fmt.Errorf("taking stock: %w", err)} {
				if got := errors.Is(err, target); got != want {
					t.Errorf("errors.Is(%q, %q) = %t, want %t", err, target, got, want)
				}
			}
		}
	}
	var found *engine.HeldError
	if !errors.As(fmt.Errorf("taking stock: %w", held), &found) || found != held {
		t.Errorf("As = %v", found)
	}
}

func TestContractLockerIsSealed(t *testing.T) {
	locker := reflect.TypeFor[engine.Locker]()
	for i := range locker.NumMethod() {
		if !locker.Method(i).IsExported() {
			return
		}
	}
	t.Error("anybody can implement Locker")
}

// What is exported by mistake cannot be taken back.
func TestContractShowsNothingInternal(t *testing.T) {
	for _, v := range []any{
		(*engine.Engine)(nil), (*engine.Mutex)(nil), (*engine.MultiLock)(nil), (*engine.QuorumLock)(nil), (*engine.RWMutex)(nil),
		(*engine.Semaphore)(nil), (*engine.Limit)(nil), (*engine.CountDownLatch)(nil), (*engine.Hold)(nil), (*enginetest.Server)(nil),
	} {
		handle := reflect.TypeOf(v)
		for i := range handle.NumMethod() {
			m := handle.Method(i)
			for in := range m.Type.NumIn() {
				wantPublic(t, m, m.Type.In(in))
			}
			for out := range m.Type.NumOut() {
				wantPublic(t, m, m.Type.Out(out))
			}
		}
	}
}

func wantPublic(t *testing.T, m reflect.Method, shown reflect.Type) {
	t.Helper()
	for shown.Kind() == reflect.Pointer || shown.Kind() == reflect.Slice {
		shown = shown.Elem()
	}
	for _, hidden := range []string{"/internal/", "/dispatcher", "/scripts", "/wheel"} {
		if strings.Contains(strings.TrimPrefix(shown.PkgPath(), module), hidden) {
			t.Errorf("%v shows %v", m.Func.Type(), shown)
		}
	}
}

// A log of the options has all of them.
func TestContractOptionsInTextAreComplete(t *testing.T) {
	text := engine.Options{}.String()
	for _, f := range reflect.VisibleFields(reflect.TypeFor[engine.Options]()) {
		switch f.Name {
		case "NameMapper", "Observer", "Logger":
			continue
		}
		if !strings.Contains(text, f.Name+":") {
			t.Errorf("%s does not show %s", text, f.Name)
		}
	}
}

func TestContractOptionsOfCallsCostNoMemory(t *testing.T) {
	var sink engine.LockOption
	owner := engine.NewOwner()
	allocs := testing.AllocsPerRun(100, func() {
		for _, sink = range [...]engine.LockOption{engine.WithLease(time.Minute), engine.WithWait(time.Second), engine.WithOwner(owner)} {
		}
	})
	if allocs != 0 || reflect.TypeOf(sink).Kind() != reflect.Struct {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

func TestContractOwnersAreDistinct(t *testing.T) {
	seen := map[engine.Owner]bool{{}: true}
	for range 1000 {
		o := engine.NewOwner()
		if seen[o] {
			t.Fatal("NewOwner returned an owner twice, or the zero Owner")
		}
		seen[o] = true
	}
}

func TestContractStatsInJSON(t *testing.T) {
	text, err := json.Marshal(engine.Stats{})
	testkit.Must(t, err)
	var fields map[string]any
	testkit.Must(t, json.Unmarshal(text, &fields))
	for _, name := range []string{"up", "held", "waiting", "granted", "lost", "refused", "uncertain", "overflowed", "oldest_hold", "waits", "batches"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("no %q in %v", name, slices.Sorted(maps.Keys(fields)))
		}
	}
}
