package futures

// Runner runs callbacks. Go must not block and must not drop t: a future that depends on the callback stays pending
// until t has run. Any goroutine may call Go, including the one that settles, so Go should leave t to another
// goroutine. A nil Runner stands for the go statement.
//
// A Runner that embeds [Parkers] makes blocking in Wait free of allocations. A Runner that is a [PanicHandler] is told
// of the panics of callbacks.
//
// Runner is machinery, for code that makes futures.
type Runner interface {
	Go(t Task)
}

// Task is a callback that is ready to run: its answer is there. A [Runner] calls Run once. Run does not panic, whatever the callback does.
//
// Task is machinery, for code that makes futures.
type Task interface {
	Run()
}

// Canceler is told that a pending future was cancelled, at most once, on the goroutine that called [Future.Cancel],
// after the future was settled. Cancelled must not block.
//
// Canceler is machinery, for code that makes futures.
type Canceler interface {
	Cancelled()
}

// Promise is the settling side of a Future. It may be a field of a larger struct, which then stays in memory as long as
// its future does. It must not be copied or used for a second answer. The zero value is a pending promise without
// Runner and Canceler.
//
// Promise is machinery, for code that makes futures.
type Promise[T any] struct {
	future Future[T]
}

// New returns a pending promise, see [Promise.Init].
func New[T any](r Runner, c Canceler) *Promise[T] {
	p := new(Promise[T])
	p.Init(r, c)
	return p
}

// Init sets what runs the callbacks of the future and of those derived from it, and what is told of its cancellation.
// Both may be nil. Call Init before any other use of the promise.
func (p *Promise[T]) Init(r Runner, c Canceler) {
	p.future.runner, p.future.canceler = r, c
}

// Settle gives the answer. It returns true if this call settled the future. It returns false, and changes nothing, if
// the future was settled or cancelled before; v is then still the caller's to clean up.
//
// Any goroutine may call Settle. It does not block and allocates nothing itself: it wakes blocked waiters and passes
// the callbacks to the Runner, in the order in which they were registered.
func (p *Promise[T]) Settle(v T, err error) bool { return p.future.settle(v, err) }

// Settled reports whether the future is settled or cancelled, so that Settle would return false. The answer itself may
// become readable an instant later.
func (p *Promise[T]) Settled() bool { return p.future.state.Load() != pending }

// Future returns the promise's future. It is always the same pointer and costs nothing.
func (p *Promise[T]) Future() *Future[T] { return &p.future }
