package futures

// Runner runs callbacks. Go must not block and must not drop t: a future derived from the callback stays
// pending until t has run. Go is called from any goroutine, also from the one that settles, and should
// leave t to another goroutine. A nil Runner stands for the go statement.
//
// A Runner that embeds [Parkers] makes blocking in Wait free of allocations; one that is a [PanicHandler]
// hears of the panics of callbacks.
type Runner interface {
	Go(t Task)
}

// Task is a callback whose answer is there. Run is to be called once; it does not panic, whatever the callback does.
type Task interface {
	Run()
}

// Canceler is told that a pending future was cancelled, at most once, on the goroutine that called
// [Future.Cancel], when the future is already settled. Cancelled must not block.
type Canceler interface {
	Cancelled()
}

// Promise is the settling side of a Future. It may be a field of a bigger record, which then stays in
// memory as long as its future does; it must not be copied or used for a second answer. The zero value is
// a pending promise without Runner and Canceler.
type Promise[T any] struct {
	future Future[T]
}

// New returns a pending promise, see [Promise.Init].
func New[T any](r Runner, c Canceler) *Promise[T] {
	p := new(Promise[T])
	p.Init(r, c)
	return p
}

// Init says who runs the callbacks of the future, and of those derived from it, and who hears of its
// cancellation; both may be nil. It must be called before the promise is used in any other way.
func (p *Promise[T]) Init(r Runner, c Canceler) {
	p.future.runner, p.future.canceler = r, c
}

// Settle gives the answer. It returns true when this call settled the future, and false, with nothing
// changed, when the future was settled or cancelled before: then v is still the caller's to clean up.
//
// Any goroutine may call it. It does not block; it wakes whoever waits and hands the callbacks to the
// Runner, in the order they were registered, and allocates nothing itself.
func (p *Promise[T]) Settle(v T, err error) bool { return p.future.settle(v, err) }

// Settled reports whether the race is decided: whether Settle would return false. The answer itself may
// be readable only an instant later.
func (p *Promise[T]) Settled() bool { return p.future.state.Load() != pending }

// Future returns the side for those who want the answer. It is always the same pointer and costs nothing.
func (p *Promise[T]) Future() *Future[T] { return &p.future }
