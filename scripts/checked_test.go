package scripts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// changing are the functions of the scripts that write and answer by what fault they were refused. ask is not among them: it
// keeps the fault itself.
var changing = []string{"prolong", "prolonghold", "bound", "pass", "downgrade", "note", "reclaim", "extend", "live", "join", "take"}

// used is what an expression stands behind whose value is used. Behind anything else it is a statement.
var used = regexp.MustCompile(`(?:[=(,{\[<>+*/#.~-]|\b(?:return|and|or|not|in|if|elseif|while|until))\s*$`)

// sources are the files of Lua.
func sources(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.lua")
	if err != nil || len(files) == 0 {
		t.Fatal("no Lua here:", err)
	}
	texts := make(map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	return texts
}

// said reports whether the line of a text at some place ends with a comment that gives a reason after this word.
func said(text string, at int, word string) bool {
	from := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[from:], "\n")
	_, comment, _ := strings.Cut(line, "--")
	return regexp.MustCompile(`\b` + word + `: \S+ \S+`).MatchString(comment)
}

// dropped is whether what is called at some place of a text is a statement of its own. Comments must be blank.
func dropped(text string, at int) bool {
	return !used.MatchString(strings.TrimRight(text[:at], " \t\n"))
}

// Whoever does not look at the answer of a write believes in what Redis has refused. An exception says "unchecked:" and why
// in its line.
// invariant: reply-says-what-redis-holds
func TestEveryAnswerOfAWriteIsLookedAt(t *testing.T) {
	functions := regexp.MustCompile(`\b(` + strings.Join(changing, "|") + `)\(`)
	for file, text := range sources(t) {
		if file == "rights.lua" { // it looks at each for what its error says
			continue
		}
		blank := blanked(text)
		for _, found := range runs.FindAllStringSubmatchIndex(text, -1) {
			at, how, command := found[0], text[found[2]:found[3]], text[found[4]:found[5]]
			if how == "ask" || !slices.Contains(writes, command) || strings.TrimSpace(blank[at:at+1]) == "" {
				continue
			}
			if (dropped(blank, at) || unread(blank, at)) && !said(text, at, "unchecked") {
				t.Errorf("%s: nobody looks at what this %s answers: %s", file, command, lineAt(text, at))
			}
		}
		for _, found := range functions.FindAllStringIndex(blank, -1) {
			at := found[0]
			if strings.HasSuffix(blank[:at], "function ") {
				continue
			}
			if (dropped(blank, at) || unread(blank, at)) && !said(text, at, "unchecked") {
				t.Errorf("%s: nobody looks at what this answers: %s", file, lineAt(text, at))
			}
		}
	}
}

// unread reports whether what is called at some place goes into a local that the lines behind do not mention.
func unread(text string, at int) bool {
	from := strings.LastIndexByte(text[:at], '\n') + 1
	local := regexp.MustCompile(`^\s*(?:local )?(\w+) =[^=]*$`).FindStringSubmatch(text[from:at])
	if local == nil {
		return false
	}
	rest := strings.SplitN(text[at:], "\n", 7)
	return !regexp.MustCompile(`\b` + local[1] + `\b`).MatchString(strings.Join(rest[:min(len(rest), 6)], "\n"))
}

// blanked is a text with its comments as blanks.
func blanked(text string) string {
	return regexp.MustCompile(`--[^\n]*`).ReplaceAllStringFunc(text, func(comment string) string { return strings.Repeat(" ", len(comment)) })
}

func lineAt(text string, at int) string {
	from := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[from:], "\n")
	return strings.TrimSpace(line)
}

// redis.call raises an error that ends the script half-way, for all its names. Where it is used the line says "raises:" and why.
// invariant: reply-says-what-redis-holds
func TestNoScriptEndsHalfWay(t *testing.T) {
	for file, text := range sources(t) {
		blank := blanked(text)
		for _, found := range regexp.MustCompile(`\bredis\.call\(|\berror\(|\bassert\(`).FindAllStringIndex(blank, -1) {
			if !said(text, found[0], "raises") {
				t.Errorf("%s: this may raise an error: %s", file, lineAt(text, found[0]))
			}
		}
	}
}

// The tests above know every command: one that neither reads nor writes would pass them.
func TestEveryCommandIsKnown(t *testing.T) {
	for file, text := range sources(t) {
		for _, found := range runs.FindAllStringSubmatch(text, -1) {
			if command := found[2]; !slices.Contains(writes, command) && !slices.Contains(reads, command) {
				t.Errorf("%s: %s is neither among the commands that read nor among those that write", file, command)
			}
		}
		if found := regexp.MustCompile(`\bp?call\([^')]*[^')\s]`).FindString(blanked(text)); found != "" && file != "rights.lua" && !strings.Contains(found, "command, key, ...") {
			t.Errorf("%s: a command that is not named in the text: %s", file, found)
		}
	}
}

// Lua 5.4 has no unpack, and others things that 5.1 has.
func TestScriptsUseWhatEveryLuaHas(t *testing.T) {
	only := regexp.MustCompile(`\b(?:loadstring|setfenv|getfenv|module|table\.getn|table\.maxn|math\.pow|math\.mod|math\.log10|string\.gfind|gcinfo)\b|\b(?:bit|cjson|cmsgpack|struct)\.|//|%d['"]?,`)
	for file, text := range sources(t) {
		if found := only.FindString(blanked(text)); found != "" {
			t.Errorf("%s: %s is not in every Lua", file, found)
		}
	}
}
