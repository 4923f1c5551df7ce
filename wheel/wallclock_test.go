package wheel

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"testing"
)

// On Linux nothing here may be decided by the wall clock, but for one thing: whether the boot-time clock is to be read at
// once. So the places that can read it are named here, all of them, with their reasons.
// invariant: clock-counts-suspension
func TestWallClockIsNotRead(t *testing.T) {
	want := map[string]bool{
		"NewClock: time.Now":  true, // for its monotonic reading
		"Time: time.Now":      true, // what users get carries the wall time too
		"Checked: time.Now":   true, // a sign of suspension, on which the boot-time clock is read
		"newClock: .UnixNano": true, // what ahead compares with
		"ahead: .UnixNano":    true, // for Checked
	}
	linux := build.Default
	linux.GOOS, linux.GOARCH = "linux", "amd64"
	pkg, err := linux.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				for _, read := range wallReads(fn.Body) {
					got[fn.Name.Name+": "+read] = true
				}
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the wall clock is read in\n%v, want\n%v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// wallReads finds what can read the wall clock or take the wall reading out of a time.Time. Since, Until
// and Sub use the monotonic readings where both times have one, as all have here.
func wallReads(body *ast.BlockStmt) (reads []string) {
	functions := []string{
		"time.Now", "unix.Time", "unix.Gettimeofday", "unix.CLOCK_REALTIME", "unix.CLOCK_REALTIME_COARSE", "unix.CLOCK_TAI",
	}
	methods := []string{
		"Round", "Truncate", "Unix", "UnixMilli", "UnixMicro", "UnixNano", "UTC", "Local", "Format", "AppendFormat",
		"MarshalText", "MarshalJSON", "Date", "Hour", "Minute", "Second", "Nanosecond", "YearDay", "Weekday",
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(functions, x.Name+"."+n.Sel.Name) {
				reads = append(reads, x.Name+"."+n.Sel.Name)
			} else if slices.Contains(methods, n.Sel.Name) && !(ok && x.Name == "time") {
				reads = append(reads, "."+n.Sel.Name)
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && fn.Name == "wallAhead" {
				reads = append(reads, fn.Name)
			}
		}
		return true
	})
	return reads
}
