package report

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wheellock/wheellock/internal/load"
)

// screen is what a terminal shows after it got a text: enough of one for a line that is written again.
func screen(t *testing.T, text string) string {
	t.Helper()
	var lines []string
	line := ""
	for len(text) > 0 {
		switch {
		case strings.HasPrefix(text, "\x1b[K"):
			text = text[len("\x1b[K"):] // whatever is right of the cursor: our lines are written in full
		case text[0] == '\r':
			line, text = "", text[1:]
		case text[0] == '\n':
			lines, line, text = append(lines, line), "", text[1:]
		case text[0] == '\x1b':
			t.Fatalf("unknown escape in %q", text[:min(len(text), 10)])
		default:
			r, size := utf8.DecodeRuneInString(text)
			line += string(r)
			text = text[size:]
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// play shows a run.
func play(l *Live) {
	l.Progress(load.WarmUp, 500*time.Millisecond, time.Second)
	warm := aSample(0, load.WarmUp)
	warm.Last = true
	l.Line(warm, 0)
	l.Progress(load.Measured, 0, 2*time.Second)
	s := last(0)
	s.Last = false
	l.Line(s, 0)
	l.Note("connection to Redis broke")
	l.Progress(load.Measured, 1500*time.Millisecond, 2*time.Second)
	quiet := &load.Sample{Phase: load.Measured, Elapsed: time.Second}
	l.Line(quiet, 3)
}

func TestLiveOnATerminal(t *testing.T) {
	for name, change := range map[string]func(*load.Plan){
		"live_closed.golden": func(*load.Plan) {}, "live_open.golden": func(p *load.Plan) { p.Rate = 500 },
	} {
		plan := aPlan()
		change(&plan)
		var out strings.Builder
		l := NewLive(&out, &plan, 100)
		play(l)
		wantGolden(t, name, screen(t, out.String())+"\n")
		l.Progress(load.Drain, 0, 0)
		if shown := screen(t, out.String()); !strings.Contains(shown, "waiting for the last calls") {
			t.Errorf("while draining:\n%s", shown)
		}
		l.End()
		if shown := screen(t, out.String()); !strings.HasSuffix(shown, "\n") {
			t.Errorf("the bar stays:\n%s", shown)
		}
	}
}

// Each piece goes out whole, and clears what stood behind it: a terminal has nothing to flicker with.
func TestLiveWritesWholeLines(t *testing.T) {
	plan := aPlan()
	var out pieces
	play(NewLive(&out, &plan, 60))
	for i, piece := range out {
		if i > 0 && (!strings.HasPrefix(piece, "\r") || !strings.HasSuffix(piece, "\x1b[K")) {
			t.Errorf("piece %d is %q", i, piece)
		}
		for line := range strings.Lines(piece) {
			if strings.Contains(line, "░") && utf8.RuneCountInString(strings.Trim(line, "\r\x1b[K")) >= 60 {
				t.Errorf("the bar is wider than the terminal: %q", line)
			}
		}
	}
}

type pieces []string

func (p *pieces) Write(b []byte) (int, error) {
	*p = append(*p, string(b))
	return len(b), nil
}

func TestLiveInALog(t *testing.T) {
	plan := aPlan()
	plan.Rate = 500
	var out strings.Builder
	l := NewLive(&out, &plan, 0)
	play(l)
	l.End()
	wantGolden(t, "live_log.golden", out.String())
}
