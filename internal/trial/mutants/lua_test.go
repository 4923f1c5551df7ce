package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// changes are the mutants of a script, as what its line becomes.
func changes(t *testing.T, text string) []string {
	t.Helper()
	all, err := mutateLua("scripts/x.lua", text)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range all {
		lines = append(lines, m.To)
	}
	return lines
}

func TestMutantsOfLua(t *testing.T) {
	for text, want := range map[string][]string{
		"if a < b then return f(KEYS[1]) or 1 end -- why": {
			"if a <= b then return f(KEYS[1]) or 1 end",
			"if a >= b then return f(KEYS[1]) or 1 end",
			"if a < b then end",
			"if a < b then return f(KEYS[1]) and 1 end",
			"if a < b then return f(KEYS[1]) end",
			"if a < b then return 1 end",
			"if a < b then return f(KEYS[1]) and nil or 1 end",
			"if a < b then return f(KEYS[1 + 1]) or 1 end",
			"if a < b then return f(KEYS[2]) or 1 end",
			"if a < b then return f(KEYS[0]) or 1 end",
			"if a < b then return f(KEYS[1]) or 2 end",
		},
		"local n = KEYS[2 * i - 1]": {
			"local n = KEYS[2 * i - 1 + 1]", "local n = KEYS[2 * i + 1]", "local n = KEYS[2 / i - 1]",
			"local n = KEYS[3 * i - 1]", "local n = KEYS[1 * i - 1]", "local n = KEYS[2 * i - 2]", "local n = KEYS[2 * i - 0]",
		},
		"if f(x) and not y then z = math.max(-x, y) end": {
			"if not (f(x) and not y) then z = math.max(-x, y) end",
			"if f(x) or not y then z = math.max(-x, y) end",
			"if f(x) then z = math.max(-x, y) end",
			"if not y then z = math.max(-x, y) end",
			"if (f(x) or true) and not y then z = math.max(-x, y) end",
			"if f(x) and y then z = math.max(-x, y) end",
			"if f(x) and not y then end",
			"if f(x) and not y then z = -x end",
			"if f(x) and not y then z = y end",
			"if f(x) and not y then z = math.min(-x, y) end",
			"if f(x) and not y then z = math.max(x, y) end",
		},
		"for _, v in ipairs({ a = true, 'x' .. y }) do f(function(...) return #v end) break end": {
			"for _, v in ipairs({ a = false, 'x' .. y }) do f(function(...) return #v end) break end",
			"for _, v in ipairs({ a = true, 'x' .. y }) do break end",
			"for _, v in ipairs({ a = true, 'x' .. y }) do f(function(...) end) break end",
			"for _, v in ipairs({ a = true, 'x' .. y }) do f(function(...) return #v end) end",
		},
		"call('HSET', key, a, b, '1', c) f(key, a, b) return g(nil, nil)": { // not the key
			"f(key, a, b) return g(nil, nil)", "call('HSET', key, b, a, '1', c) f(key, a, b) return g(nil, nil)",
			"call('HSET', key, a, b, '1', c) return g(nil, nil)", "call('HSET', key, a, b, '1', c) f(key, b, a) return g(nil, nil)",
			"call('HSET', key, a, b, '1', c) f(key, a, b)",
		},
		"local n = f() if n == m then x.k = 'read' end y = x": {
			"local n = f() if n ~= m then x.k = 'read' end y = x",
			"local n = f() if n == m then end y = x",
			"local n = f() if n == m then x.k = 'write' end y = x",
			"local n = f() if n == m then x.k = 'read' end",
		},
		"x = 9007199254740992 -- 2^53": {""}, // one more is the same number
	} {
		if got := changes(t, text); !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %q\nwant %q", text, got, want)
		}
	}
}

// What the parser cannot read it says.
func TestNoLua(t *testing.T) {
	for _, text := range []string{"if x then", "x = = 1", "local x = @", "end"} {
		if _, err := parseLua(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// mutantsOfLua are those of all scripts, which take seconds to find.
var mutantsOfLua = sync.OnceValues(func() ([]*Mutant, error) { return luaMutants("../../..") })

func TestEveryScriptHasMutants(t *testing.T) {
	all, err := mutantsOfLua()
	if err != nil {
		t.Fatal(err)
	}
	keys := make(map[string]bool)
	for _, m := range all {
		if keys[m.Key()] {
			t.Errorf("two mutants have one key: %v", m)
		}
		keys[m.Key()] = true
	}
	t.Logf("%d mutants", len(all))
}

// A script that no Script is known to have would get mutants that are put in nowhere, and survive.
func TestEveryScriptIsKnown(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "scripts")
	s, err := readScripts(folder)
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, files := range s.made {
		for _, file := range files {
			known[file] = true
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.lua"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts: %v", len(files), err)
	}
	for _, file := range files {
		if name := filepath.Base(file); !known[name] {
			t.Errorf("%s is in no Script", name)
		}
	}
	scripts := strings.Fields(strings.Join(slices.Collect(maps.Values(worldScripts)), " "))
	for _, of := range engineTests {
		scripts = append(scripts, strings.Fields(of.scripts)...)
	}
	for _, name := range scripts {
		if !known[name+".lua"] {
			t.Errorf("there is no %s.lua", name)
		}
	}
}
