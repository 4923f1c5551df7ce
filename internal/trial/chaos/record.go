package chaos

// what says what a record tells.
type what uint8

const (
	called    what = iota // a call is about to be made
	granted               // it was answered with a hold
	denied                // it was answered with an error
	alive                 // the hold said so a moment after At
	ended                 // the hold told its end
	unlocking             // Unlock, or Release, is about to be called
	unlocked              // it returned
	extending             // Extend is about to be called
	extended              // it returned
	stalled               // the process did not run from Until to At
	rested                // every worker has stopped; N is how many holds the engine believes it has
	sampled               // Gauge says it
)

// way is how a call was made.
type way uint8

const (
	tried    way = iota // asks once
	waited              // WithWait
	unbound             // no end but a grant
	ctxEnded            // its context is cancelled at a random moment
	dropped             // an asynchronous call whose future is cancelled
)

// record is one thing a client says, through package gob: each is one write to the pipe, so a kill -9 loses no finished one. Its fields mean
// what its kind needs.
type record struct {
	At      instant
	What    what
	Way     way
	Place   uint16 // index of the name
	Call    uint32 // number of the call, which is its hold's too
	Owner   uint32 // 0: its own
	N       int32  // permits
	Classes classes
	Write   bool // the writer of a read-write lock
	Token   int64
	Until   instant // deadline; of a call: when it has to have been answered, 0: no bound
	Text    string  // of an error that no class fits
	Gauge   *gauge
}
