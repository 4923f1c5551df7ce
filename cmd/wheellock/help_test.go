package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/internal/redistest"
)

// flagsOf are all flags that a command takes.
func flagsOf(c cli.Command) *flag.FlagSet {
	flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	new(cli.Env).Define(flags)
	c.Define(flags)
	return flags
}

// Help fits into 80 columns, explains each flag, and its examples name commands and flags that there are.
func TestHelp(t *testing.T) {
	t.Parallel()
	general, _ := inside(t, 0, "-h")
	for _, same := range [][]string{{}, {"help"}, {"--help"}} {
		if got, _ := inside(t, 0, same...); got != general {
			t.Errorf("%q says something else than -h", same)
		}
	}
	texts := []string{general}
	for _, c := range commands() {
		text, _ := inside(t, 0, c.Name, "-h")
		if got, _ := inside(t, 0, "help", c.Name); got != text {
			t.Errorf("help %s says something else than %[1]s -h", c.Name)
		}
		flagsOf(c).VisitAll(func(f *flag.Flag) {
			if !strings.Contains(text, "\n  --"+f.Name) {
				t.Errorf("%s -h does not explain --%s", c.Name, f.Name)
			}
		})
		if !strings.Contains(general, "\n  "+c.Name+" ") {
			t.Errorf("-h does not name %s", c.Name)
		}
		texts = append(texts, text)
	}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
				t.Errorf("a line of %d columns: %s", n, line)
			}
			if example, found := strings.CutPrefix(line, "  wheellock "); found && !strings.Contains(line, "[") && !strings.Contains(line, "COMMAND") {
				checkExample(t, strings.Fields(example))
			}
		}
	}
}

func checkExample(t *testing.T, words []string) {
	t.Helper()
	for _, c := range commands() {
		if c.Name != words[0] {
			continue
		}
		for _, word := range words[1:] {
			name, isFlag := strings.CutPrefix(word, "--")
			if isFlag && name == "" {
				return
			}
			if isFlag && flagsOf(c).Lookup(name) == nil {
				t.Errorf("the example %q has a flag that there is not", words)
			}
		}
		return
	}
	t.Errorf("the example %q is of no command", words)
}

// What cannot be is complained of in one line that says what to do, with exit code 64 and nothing on standard output.
func TestCommandLinesThatCannotBe(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"lokc":                                 `there is no command "lokc" (did you mean lock?); wheellock -h`,
		"--names":                              "there is no flag --names",
		"lock job --wiat 5s -- true":           "there is no flag --wiat (did you mean --wait?)",
		"lock":                                 "name the lock: wheellock lock NAME -- COMMAND",
		"lock job":                             "say after -- which command to run",
		"lock job true":                        "put -- before the command: wheellock lock job -- true",
		"lock job other -- true":               `what is "other"?`,
		"lock job --":                          "say after -- which command",
		"lock job --wait soon -- true":         `invalid value "soon" for --wait: want a time with its unit, such as 500ms or 1m30s`,
		"lock job --try=maybe -- true":         `invalid value "maybe" for --try: want true or false`,
		"top --count many":                     `invalid value "many" for --count: want a whole number`,
		"lock job --wait 5 -- true":            `invalid value "5" for --wait: a time needs a unit; did you mean 5s?`,
		"lock job --wait -- true":              "a value is missing after --wait",
		"lock job --wait -1s -- true":          "--wait -1s: must not be negative",
		"lock job --try --wait 1s -- x":        "--try with --wait",
		"lock job --lease 50ms -- true":        "--lease 50ms: must be from 1s to 720h0m0s",
		"lock job --permits 0 -- x":            `invalid value "0" for --permits: want a whole number from 1`,
		"lock job --permits 2 --shared -- x":   "--permits with --shared",
		"lock a --permits 2 --kind fair -- x":  "--permits with --kind fair",
		"lock job --shared --kind fair -- x":   "--shared with --kind fair: only a lock of kind rw has readers",
		"lock job --kind fare -- x":            "--kind fare: want fenced, fair, rw, simple",
		"lock a --shared --min-hold 1s -- x":   "--min-hold keeps only locks of kind fenced, fair and simple",
		"elect job":                            "say after -- which command",
		"ls a b":                               `what is "b"?`,
		"show":                                 "name one lock, not 0",
		"force a b --yes":                      "name one lock, not 2",
		"top --interval 1ms":                   "--interval 1ms: must be at least 100ms",
		"top --count -1":                       "--count -1: must not be negative",
		"watch":                                "name a lock, or several",
		"watch a --interval 1ms":               "--interval 1ms: must be at least 100ms",
		"watch a --for -1s":                    "--for -1s: must not be negative",
		"watch a --count -1":                   "--count -1: must not be negative",
		"watch redis://h a":                    "put --redis before it",
		"ls valkeys://h":                       "put --redis before it",
		"lock REDIS://h -- true":               "put --redis before it",
		"elect unix:///h -- true":              "put --redis before it",
		"--redis  ls":                          "--redis: Redis URL: it has no scheme",
		"completion csh":                       "name a shell",
		"ls --redis ftp://u:hunter2@h":         "Redis URL",
		"ls --redis redis://h/x/y":             "Redis URL",
		"--redis redis:// lock a --":           "say after --",
		"ls --cacert /none":                    "--cacert, --cert and --key are for TLS",
		"ls --redis rediss://h --cert x":       "--cert and --key belong together",
		"ls --redis rediss://h --cacert /none": "--cacert: open /none",
		"ls --password-file /none":             "--password-file: open /none",
		"ls --password-file /dev/null":         "--password-file /dev/null: its first line is empty",
		"lock job --identity \x01 -- true":     "Identity",
	} {
		stdout, said := inside(t, 64, strings.Split(args, " ")...)
		if stdout != "" || strings.Count(said, "\n") != 1 || strings.Contains(said, "hunter2") || !strings.Contains(said, want) {
			t.Errorf("%q: said %q and %q; want one line on standard error, with %q, without the password", args, stdout, said, want)
		}
	}
	if _, said := inside(t, 64, "show", "--json"); said != `{"error":"name one lock, not 0; wheellock show -h explains it","exit":64}`+"\n" {
		t.Errorf("--json: %s", said)
	}
	if _, said := inside(t, 64, "--json", "--redis", "", "ls"); !strings.HasPrefix(said, "{") {
		t.Errorf("--json before a command, beside an empty URL: %s", said)
	}
}

// Other exit codes of wheellock's own.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	wheellock(t, "ls", "--redis", "redis://127.0.0.1:1").want(t, 69, "connection refused")
	wheellock(t, "lock", "--redis", "redis://127.0.0.1:1", "job", "--", "true").want(t, 69, "connection refused", "Else name another one with --redis")
	wheellock(t, "ls", "--redis", "redis://127.0.0.1:99999").want(t, 64, "with a port from 1 to 65535")
	wheellock(t, "lock", "job", "--", "no-such-program").want(t, 127, "no-such-program")
	wheellock(t, "lock", "job", "--", "/dev/null").want(t, 126, "permission denied")
	wheellock(t, "lock", "job", "--", t.TempDir()).want(t, 126, "directory")
	server := redistest.Start(t, "--requirepass", "hunter2")
	said := wheellock(t, "ls", "--redis", strings.Replace(server.URL(), "hunter2", "sesame", 1)).want(t, 69, "WRONGPASS").stderr.String()
	if strings.Contains(said, "sesame") {
		t.Errorf("the password is told: %s", said)
	}
	p := wheellock(t, "ls")
	p.Env = append(p.Env, redisflags.URLVariable+"="+server.URL())
	p.want(t, 0)
	wheellock(t, "--redis", server.URL(), "lock", "job", "--", "sh", "-c", "exit 9").want(t, 9)
	nested := wheellock(t, "lock", "--redis", server.URL(), "outer", "--", os.Args[0], "lock", "--redis", server.URL(), "inner", "--", "env").want(t, 0)
	if env := nested.stdout.String(); !strings.Contains(env, "WHEELLOCK_NAME=inner\n") || strings.Count(env, "WHEELLOCK_NAME=") != 1 {
		t.Errorf("the environment under two locks: %s", env)
	}
	h := wheellock(t, "lock", "--redis", server.URL(), "--json", "job", "--", "true").want(t, 0)
	if said := h.stderr.String(); !strings.Contains(said, `{"event":"granted","name":"job","token":`) || !strings.Contains(said, `{"event":"ended","name":"job","token":`) {
		t.Errorf("--json: %s", said)
	}
	simple := wheellock(t, "lock", "--redis", server.URL(), "--json", "--kind", "simple", "simple", "--", "true").want(t, 0)
	if said := simple.stderr.String(); strings.Contains(said, "token") {
		t.Errorf("--json of a lock that has no token: %s", said)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"":                "completion doctor elect force lock ls show top watch",
		"l":               "lock ls",
		"--r":             "--redis",
		"lock --":         "--cacert --cert --identity --json --key --kind --lease --min-hold --note --password-file --permits --redis --shared --try --user --wait",
		"lock --w":        "--wait",
		"lock a -- --w":   "",
		"ls --redis x --": "--cacert --cert --holder --json --key --kind --password-file --redis --sort --user --waited",
	} {
		got, _ := inside(t, 0, append([]string{completeRole, "--"}, strings.Split(words, " ")...)...)
		candidates := strings.Fields(got)
		for _, w := range strings.Fields(want) {
			if !strings.Contains(" "+strings.Join(candidates, " ")+" ", " "+w+" ") {
				t.Errorf("completions of %q are %q, without %s", words, candidates, w)
			}
		}
		if len(candidates) != len(strings.Fields(want)) {
			t.Errorf("completions of %q: %q, want %s", words, candidates, want)
		}
	}
	for shell := range scripts {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("there is no %s here to try its script", shell)
			continue
		}
		t.Run(shell, func(t *testing.T) {
			dir := t.TempDir()
			self, _ := os.Executable()
			if err := os.Symlink(self, filepath.Join(dir, "wheellock")); err != nil {
				t.Fatal(err)
			}
			ask := map[string]string{
				"bash": `source <(wheellock completion bash); COMP_WORDS=(wheellock lock --w); COMP_CWORD=2; _wheellock; echo "${COMPREPLY[@]}"`,
				"zsh": `wheellock completion zsh >"$0/_wheellock"; fpath=("$0" $fpath); autoload -U compinit; compinit -D; compadd() { shift; echo $found }
					words=(wheellock lock --w); CURRENT=3; _wheellock; source "$0/_wheellock"; [ "$(_wheellock)" = --wait ]`,
				"fish": `wheellock completion fish | source; complete -C 'wheellock lock --w'`,
			}[shell]
			cmd := exec.Command(path, "-c", ask, dir)
			cmd.Env = append(os.Environ(), asProgram+"=1", "PATH="+dir+":"+os.Getenv("PATH"))
			if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "--wait" {
				t.Errorf("%s completes to %q, %v; want --wait", shell, out, err)
			}
		})
	}
}
