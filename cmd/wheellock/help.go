package main

import (
	"flag"
	"fmt"
	"io"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/doctor"
)

const intro = `wheellock uses locks on Redis from the command line, and shows them.

  wheellock COMMAND [flags] ...

Start with a server and three terminals:

  wheellock lock demo -- sleep 60     in one: sleeps while it holds the lock
  wheellock lock demo -- date         in the other: waits for it
  wheellock ls                        in a third: shows who has it

Java services with Redisson and Go services with package engine share these locks.

Commands`

const outro = `
"wheellock COMMAND -h" explains a command with its flags, "wheellock --version" says which wheellock this is.

--redis URL, or WHEELLOCK_REDIS in the environment, says where Redis is:

  redis://user:password@host:6379/0            one server
  rediss://host:6379                           with TLS
  redis://host1:26379?addr=host2:26379&master_set=mymaster
                                               Sentinel
  redis://host1:6379?addr=host2:6379           Cluster; one address is enough
  unix:///run/redis.sock                       a socket

Others on the machine see the arguments of a process: put a password into WHEELLOCK_REDIS, or into a file for --password-file.
`

// codes are the exit codes.
var codes = []struct {
	code int
	text string
}{
	{cli.ExitOK, "done"},
	{cli.ExitNo, "no: nobody holds it, or it was not freed; doctor: warnings"},
	{doctor.ExitErrors, "doctor: errors"},
	{cli.ExitUsage, "invalid command line"},
	{cli.ExitUnavailable, "Redis cannot be reached, or refuses"},
	{cli.ExitFailed, "another failure"},
	{cli.ExitLost, "lock: lost, and COMMAND was ended"},
	{cli.ExitHeld, "lock: somebody else has it (--try, --wait)"},
	{cli.ExitCannotRun, "lock, elect: COMMAND cannot be run"},
	{cli.ExitNotFound, "lock, elect: there is no such COMMAND"},
}

// help teaches.
func help(w io.Writer) {
	fmt.Fprint(w, cli.Text(intro))
	for _, c := range commands() {
		fmt.Fprint(w, cli.Entry(c.Name, c.Short))
	}
	fmt.Fprint(w, "\n", cli.Text(outro))
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	new(cli.Env).Define(flags)
	cli.WriteFlags(w, "Flags of all commands", flags)
	fmt.Fprintln(w, "\nExit codes")
	for _, c := range codes {
		fmt.Fprint(w, cli.Entry(fmt.Sprint(c.code), c.text))
	}
	fmt.Fprint(w, cli.Entry("others", "lock, elect: those of COMMAND; 128 and more: a signal ended it"))
}
