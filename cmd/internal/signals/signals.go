// Package signals leaves alone the signals that a program was started to ignore, as nohup and a script's "&" have it.
package signals

import (
	"context"
	"fmt"
	"math/bits"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// Keep has signals that were ignored when this process was started stay ignored, here and in processes that this one starts, and
// signal.Ignored say so. It comes before any Notify.
//
// Go's runtime tells of HUP and INT, and on Linux the kernel of those that the runtime leaves alone: TSTP, TTIN, TTOU. The others the runtime
// takes for itself before anybody can look. Of these, QUIT is ignored if INT is, since shells ignore both for "&". Nothing tells of a TERM
// that was ignored.
func Keep() {
	if signal.Ignored(syscall.SIGINT) {
		signal.Ignore(syscall.SIGQUIT)
	}
	status, _ := os.ReadFile("/proc/self/status") // elsewhere there is none
	_, after, _ := strings.Cut(string(status), "\nSigIgn:\t")
	mask, _, _ := strings.Cut(after, "\n")
	for left, _ := strconv.ParseUint(mask, 16, 64); left != 0; left &= left - 1 {
		signal.Ignore(syscall.Signal(1 + bits.TrailingZeros64(left)))
	}
}

// Notify is signal.Notify, but for signals that are ignored.
func Notify(c chan<- os.Signal, signals ...os.Signal) {
	for _, one := range signals {
		if !signal.Ignored(one) {
			signal.Notify(c, one)
		}
	}
}

// Interrupted is the cause with which a context ends because of a signal.
type Interrupted struct{ Signal syscall.Signal }

func (i *Interrupted) Error() string { return fmt.Sprintf("ended by a signal: %v", i.Signal) }

// ExitCode is that of a program that ends because of it.
func (i *Interrupted) ExitCode() int { return ExitCode(i.Signal) }

// ExitCode is what shells make of a program that a signal ended.
func ExitCode(s syscall.Signal) int { return 128 + int(s) }

// Context ends with the first of these signals, and an Interrupted as its cause.
func Context(signals ...os.Signal) context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	caught := make(chan os.Signal, 1)
	Notify(caught, signals...)
	go func() { end(&Interrupted{(<-caught).(syscall.Signal)}) }()
	return ctx
}
