package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// Live shows a run while it lasts, a line for each second. On a terminal the lines are a table with a
// progress bar below, which moves in place; elsewhere each line is complete in itself, for logs. Any
// goroutine may use it: everything goes out in whole lines, one Write each, so that nothing flickers.
type Live struct {
	plan  *load.Plan
	width int // of the terminal; 0: not a terminal

	mu    sync.Mutex // guards the rest
	out   io.Writer
	lines int           // written so far, without headings and notes
	bar   string        // what stands in the last line; empty: nothing does
	ended time.Duration // where the last line of the phase ended
}

// NewLive makes a view. width is that of the terminal, 0 where out is no terminal.
func NewLive(out io.Writer, plan *load.Plan, width int) *Live {
	return &Live{out: out, plan: plan, width: width}
}

// perHeading is how many lines a heading serves: about a screen.
const perHeading = 30

// Line shows one interval, of all processes. violations is how many there were up to now.
func (l *Live) Line(s *load.Sample, violations int64) {
	if s.Phase == load.Drain {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended += s.Elapsed
	defer func() {
		if s.Last {
			l.ended = 0
		}
	}()
	second := secondOf(s, l.ended)
	if l.width == 0 {
		l.print(l.logLine(s, &second, violations))
		return
	}
	text := l.row(s, &second, violations)
	if l.lines%perHeading == 0 {
		text = l.heading() + text
	}
	l.lines++
	l.print(text)
}

// Note puts a remark between the lines.
func (l *Live) Note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const head = "loadgen: "
	note := strings.TrimSpace(fmt.Sprintf(format, args...))
	if l.width == 0 { // a line of a log
		l.print(head + note + "\n")
		return
	}
	l.print(Wrap(head, note, l.width) + "\n")
}

// Progress moves the bar, on a terminal. done and all are of the phase.
func (l *Live) Progress(phase load.Phase, done, all time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.width == 0 {
		return
	}
	const cells = 24
	full := cells
	if all > 0 {
		full = int(min(max(done, 0), all) * cells / all)
	}
	bar := fmt.Sprintf(" %s%s %s", strings.Repeat("█", full), strings.Repeat("░", cells-full), phase)
	if phase != load.Drain {
		bar += fmt.Sprintf(" %.1f s of %s", min(done, all).Seconds(), all)
		bar += " · Ctrl-C ends it early"
	} else {
		bar += ": waiting for the last calls · Ctrl-C stops waiting"
	}
	l.bar = cut(bar, l.width-1)
	l.print("")
}

// End takes the bar away.
func (l *Live) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bar != "" {
		l.bar = ""
		l.print("\r\x1b[K")
	}
}

// print writes lines, and the bar below them, in one go. On a terminal the cursor stands behind the bar: "\r" takes it to the start of
// that line, the new text overwrites the bar, and "\x1b[K" clears what is left of it.
func (l *Live) print(lines string) {
	if l.bar != "" {
		lines = "\r" + strings.ReplaceAll(lines, "\n", "\x1b[K\n") + l.bar + "\x1b[K"
	}
	io.WriteString(l.out, lines) // what cannot be shown is lost, the run is not
}

// cut shortens a line to so many places.
func cut(line string, places int) string {
	runes := []rune(line)
	if places > 0 && len(runes) > places {
		return string(runes[:places])
	}
	return line
}

// rowForm fits into the 80 places of a small terminal. columnEnds is where its columns end.
const rowForm = "%7s%11s%9s%8s%8s%9s%8s%10s%9s"

var columnEnds = []int{7, 18, 27, 35, 43, 52, 60, 70, 79}

// fit leaves out the columns for which the terminal is too narrow.
func (l *Live) fit(line string) string {
	end := 0
	for _, e := range columnEnds {
		if e <= l.width {
			end = e
		}
	}
	return cut(line, max(end, columnEnds[0]))
}

func (l *Live) heading() string {
	top := fmt.Sprintf("%18s%25s%17s", "", centred("acquire", 23), centred("hand-over", 15))
	names := fmt.Sprintf(rowForm, "time", "pairs/s", "p50", "p99", "max", "p50", "p99", "handoffs", l.queue(nil))
	return l.fit(top) + "\n" + l.fit(names) + "\n"
}

// queue returns the number that shows whether the lock keeps up: the waiters, or in an open loop the calls that were due and have
// not begun. For a nil sample it returns the name of the column.
func (l *Live) queue(s *load.Sample) string {
	switch {
	case s == nil && l.plan.Rate > 0:
		return "backlog"
	case s == nil:
		return "waiting"
	case l.plan.Rate > 0:
		return figures.Many(s.Backlog)
	default:
		return figures.Many(s.Waiting)
	}
}

// centred puts a title in the middle of a rule.
func centred(title string, places int) string {
	left := (places - len(title) - 2) / 2
	right := places - len(title) - 2 - left
	return strings.Repeat("─", left) + " " + title + " " + strings.Repeat("─", right)
}

func (l *Live) row(s *load.Sample, second *Second, violations int64) string {
	when := fmt.Sprintf("%.0f s", second.End)
	if s.Phase == load.WarmUp {
		when = "warm-up"
	}
	t := &s.Times
	row := l.fit(fmt.Sprintf(rowForm, when, figures.Grouped(int64(second.PairsPerSecond)),
		known(&t.Acquire, 50), known(&t.Acquire, 99), known(&t.Acquire, 100), known(&t.Handover, 50), known(&t.Handover, 99),
		figures.Shown(second.HandoffShare, figures.Percent), l.queue(s)))
	remarks := strings.Join(remarks(s, violations), "  ")
	switch {
	case remarks == "":
		return row + "\n"
	case utf8.RuneCountInString(row+"  "+remarks) <= l.width:
		return row + "  " + remarks + "\n"
	default:
		return row + "\n" + Wrap("         ", remarks, l.width) + "\n"
	}
}

// known is a percentile, or a dash where nothing was recorded.
func known(h *figures.Histogram, p float64) string {
	if h.Count() == 0 {
		return "-"
	}
	return figures.Short(h.Percentile(p))
}

// remarks are what is worth saying only when it happens.
func remarks(s *load.Sample, violations int64) (remarks []string) {
	add := func(n int64, what string) {
		if n > 0 {
			remarks = append(remarks, figures.Grouped(n)+" "+what)
		}
	}
	add(violations, "VIOLATIONS")
	add(s.Counts.Failed, "failed")
	add(s.Counts.Timeouts, "timed out")
	add(s.Counts.Overstayed, "overstayed")
	add(s.Counts.Late, "late")
	return remarks
}

// logLine is a row for logs, in words that can be searched for.
func (l *Live) logLine(s *load.Sample, second *Second, violations int64) string {
	t := &s.Times
	at := func(h *figures.Histogram, p float64) string { return strings.ReplaceAll(known(h, p), " ", "") }
	line := fmt.Sprintf("t=%.1fs phase=%s pairs/s=%.0f acquire.p50=%s acquire.p99=%s acquire.max=%s handover.p50=%s handover.p99=%s",
		second.End, s.Phase, second.PairsPerSecond, at(&t.Acquire, 50), at(&t.Acquire, 99), at(&t.Acquire, 100),
		at(&t.Handover, 50), at(&t.Handover, 99))
	if second.HandoffShare != nil {
		line += " handoffs=" + figures.Percent(*second.HandoffShare)
	}
	line += fmt.Sprintf(" waiting=%d", s.Waiting)
	if l.plan.Rate > 0 {
		line += fmt.Sprintf(" backlog=%d late=%d", s.Backlog, s.Counts.Late)
	}
	return line + fmt.Sprintf(" timeouts=%d failed=%d violations=%d\n", s.Counts.Timeouts, s.Counts.Failed, violations)
}
