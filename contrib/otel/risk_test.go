package wheelotel_test

import (
	"slices"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"

	wheelotel "github.com/wheellock/wheellock/contrib/otel"
)

// A risk of a hold and its end are events of the spans of that hold, each once however many holds of the same Owner are told.
func TestARiskIsAnEventOfTheHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tell := w.Observer().Risk
	me := engine.WithOwner(engine.NewOwner())
	quorum, err := engine.Quorum("q", w.Engine)
	if err != nil {
		t.Fatal(err)
	}
	locks := []engine.Locker{w.Mutex("a"), w.Mutex("a"), w.Mutex("other"), quorum}
	var holds []*wheelotel.Hold
	for i, l := range locks {
		var opts []engine.LockOption
		if i < 2 {
			opts = append(opts, me)
		}
		h, err := w.Lock(w.ctx, l, opts...)
		if err != nil {
			t.Fatal(err)
		}
		holds = append(holds, h)
	}
	for _, err := range []error{engine.ErrUncertain, engine.ErrUncertain, nil, nil} {
		tell(engine.Risk{Name: "a", Kind: engine.KindMutex, Owner: holds[0].TenureID(), Left: 14 * time.Second, Err: err})
	}
	tell(engine.Risk{Name: "q", Kind: engine.KindQuorum, Owner: "after a repair", Left: time.Second, Err: engine.ErrNotSent})
	tell(engine.Risk{Name: "other", Kind: engine.KindMutex, Owner: "of a hold that has ended", Err: engine.ErrNotSent})
	for _, h := range holds {
		testkit.MustUnlock(t, h.Hold)
	}
	both := []string{"wheellock.at_risk 14 " + engine.ErrUncertain.Error(), "wheellock.renewed"}
	for i, want := range [][]string{both, both, nil, {"wheellock.at_risk 1 " + engine.ErrNotSent.Error()}} {
		span := w.ended(holds[i])
		var got []string
		for _, e := range span.Events() {
			text := e.Name
			if left := attributeOf(e.Attributes, "wheellock.lock.left"); left != "" {
				text += " " + left + " " + attributeOf(e.Attributes, "wheellock.cause")
			}
			got = append(got, text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("hold %d: events %q, want %q", i, got, want)
		}
	}
	tell(engine.Risk{Name: "a", Kind: engine.KindMutex, Owner: holds[0].TenureID(), Err: engine.ErrNotSent}) // of none that is left
}

// ended returns the span of a hold, once it has ended.
func (w *world) ended(h *wheelotel.Hold) (found sdk.ReadOnlySpan) {
	w.Helper()
	redistest.Await(w, "the end of a span", func() bool {
		for _, s := range w.spans.Ended() {
			if s.SpanContext().SpanID() == h.Span().SpanContext().SpanID() {
				found = s
			}
		}
		return found != nil
	})
	return found
}
