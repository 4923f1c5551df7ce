package doctor

import (
	"cmp"
	"slices"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
)

// Severity is how bad a finding is for locks.
type Severity string

// The severities, from the best to the worst.
const (
	OK      Severity = "ok"
	Note    Severity = "note"           // worth knowing; nothing has to be done
	Unknown Severity = "could not look" // the server does not tell this user
	Warning Severity = "warning"        // locks are lost, late or refused when something else goes wrong
	Error   Severity = "error"          // locks are lost, late or refused as it is
)

var severities = []Severity{OK, Note, Unknown, Warning, Error}

func (s Severity) rank() int { return slices.Index(severities, s) }

// Finding is what one check has found. Its JSON names are part of the program's interface.
type Finding struct {
	Check    string   `json:"check"`
	Server   string   `json:"server,omitempty"` // "host:port"; empty: the deployment as a whole
	Severity Severity `json:"severity"`
	Found    string   `json:"found,omitempty"` // what the check has seen
	Harm     string   `json:"harm,omitempty"`  // what that does to locks
	Set      []string `json:"set,omitempty"`   // what to do: commands for redis-cli, or advice that begins with a lower case letter
}

// Report is what doctor says of a deployment. Its JSON names are part of the program's interface.
type Report struct {
	Deployment string    `json:"deployment"` // what it is, and where
	Worst      Severity  `json:"worst"`      // of the findings; "could not look" is none
	Unknown    int       `json:"unknown"`    // how many checks could not be made
	Findings   []Finding `json:"findings"`

	servers []string // of the deployment, sorted
}

// sum counts the findings and puts the worst first.
func (r *Report) sum() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(b.Severity.rank(), a.Severity.rank()) })
	r.Worst = OK
	for _, f := range r.Findings {
		switch {
		case f.Severity == Unknown:
			r.Unknown++
		case f.Severity.rank() > r.Worst.rank():
			r.Worst = f.Severity
		}
	}
}

// ExitErrors is the exit code if there are errors.
const ExitErrors = 2

// exit is the exit code.
func (r *Report) exit() int {
	switch r.Worst {
	case Error:
		return ExitErrors
	case Warning:
		return cli.ExitNo
	}
	return cli.ExitOK
}

// findings collects what a check has found.
type findings []Finding

func (f *findings) add(s Severity, what, harm string, set ...string) {
	*f = append(*f, found(s, what, harm, set...)...)
}

func found(s Severity, what, harm string, set ...string) []Finding {
	return []Finding{{Severity: s, Found: rediserr.WithoutArguments(what), Harm: harm, Set: set}} // a server may quote a password
}

// at is the findings, of one server.
func at(server string, all []Finding) []Finding {
	for i := range all {
		all[i].Server = server
	}
	return all
}

// fine is a finding that nothing is wrong.
func fine(what string) []Finding { return found(OK, what, "") }
