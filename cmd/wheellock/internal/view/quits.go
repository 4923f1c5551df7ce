package view

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"
)

// quits ends the context when q or Ctrl-C is pressed. Until restore is called the terminal passes on each key at once, and lines that are
// written must end with \r\n. Without a terminal to read from it does nothing.
func quits(ctx context.Context, stdin io.Reader) (ending context.Context, restore func()) {
	file, isFile := stdin.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return ctx, func() {}
	}
	before, err := term.MakeRaw(int(file.Fd()))
	if err != nil {
		return ctx, func() {}
	}
	ctx, stop := context.WithCancel(ctx)
	go func() { // until the process ends: a read of a terminal cannot be ended
		key := make([]byte, 1)
		for {
			n, err := file.Read(key)
			if err != nil || n == 1 && (key[0] == 'q' || key[0] == 'Q' || key[0] == 3) {
				stop()
				return
			}
		}
	}()
	return ctx, func() {
		stop()
		_ = term.Restore(int(file.Fd()), before)
	}
}
