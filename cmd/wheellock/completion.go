package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
)

// completeRole is the command by which the shells' scripts ask for completions: the words up to the one that is being typed follow.
const completeRole = "__complete"

// scripts are what the shells run.
var scripts = map[string]string{
	"bash": `_wheellock() {
	local IFS=$'\n'
	COMPREPLY=($(compgen -W "$(wheellock __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _wheellock wheellock
`,
	"zsh": `#compdef wheellock
_wheellock() {
	local -a found
	found=("${(@f)$(wheellock __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n "$found" ]]; then compadd -a found; else _default; fi
}
if [[ "$funcstack[1]" = _wheellock ]]; then _wheellock; else compdef _wheellock wheellock; fi
`,
	"fish": `complete -c wheellock -a '(set -l words (commandline -opc) (commandline -ct); wheellock __complete -- $words[2..-1] 2>/dev/null)'
`,
}

func completion() cli.Command {
	return cli.Command{
		Name: "completion", Args: "bash|zsh|fish",
		Short: "print a script that completes commands and flags",
		Help: `  bash   wheellock completion bash >/etc/bash_completion.d/wheellock
  zsh    wheellock completion zsh >"${fpath[1]}/_wheellock"
  fish   wheellock completion fish >~/.config/fish/completions/wheellock.fish`,
		Define: func(*flag.FlagSet) cli.Run {
			return func(_ context.Context, env *cli.Env, args []string) int {
				if len(args) != 1 || scripts[args[0]] == "" {
					return env.Usage("name a shell: bash, zsh or fish")
				}
				io.WriteString(env.Stdout, scripts[args[0]])
				return cli.ExitOK
			}
		},
	}
}

// complete writes what may stand in the place of the last word.
func complete(w io.Writer, words []string) (exit int) {
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 || slices.Contains(words[:len(words)-1], "--") { // a command of the user's
		return cli.ExitOK
	}
	last, flags := words[len(words)-1], flag.NewFlagSet("", flag.ContinueOnError)
	new(cli.Env).Define(flags)
	var candidates []string
	i := slices.IndexFunc(commands(), func(c cli.Command) bool { return slices.Contains(words[:len(words)-1], c.Name) })
	switch {
	case i >= 0:
		commands()[i].Define(flags)
	case !strings.HasPrefix(last, "-"):
		for _, c := range commands() {
			candidates = append(candidates, c.Name)
		}
	}
	flags.VisitAll(func(f *flag.Flag) { candidates = append(candidates, "--"+f.Name) })
	for _, c := range candidates {
		if strings.HasPrefix(c, last) && (last != "" || !strings.HasPrefix(c, "-")) {
			fmt.Fprintln(w, c)
		}
	}
	return cli.ExitOK
}
