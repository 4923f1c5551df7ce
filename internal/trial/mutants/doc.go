// Command mutants tells how good the tests are: it makes small mistakes in the scripts and in the packages gate, wheel and futures, one at
// a time, and looks whether the unit tests or the explorer (internal/trial/explore) notice.
//
// Lua: luasyntax.go reads a script, lua.go makes its mutants; gopher-lua says which of them are Lua. planlua.go: one test binary
// takes any mutant from a file (embed.go.txt), luascripts.go says which tests run which scripts. Go: gopackage.go reads a package
// with its types, gosites.go rewrites each file so that it contains every mutant (goexpressions.go, gostatements.go, goexchange.go, switch.go.txt);
// plango.go builds each test binary once, and an environment variable switches a mutant on. killer.go runs a test against a
// mutant, explorer.go lists the runs of the explorer, measure.go says how long each takes and what it reaches, plan.go orders them,
// run.go tries all mutants, results.go remembers what became of them, report.go prints the table. explained.txt says of
// survivors why they change nothing.
//
// go-gremlins/gremlins 0.6.0 does not fit: it writes each mutant into a copy of the module and runs go test there, two seconds or
// more of compiling and linking for each of thousands of mutants; it takes no -overlay, so that the explorer, a module of its own,
// never sees a mutant; and it drops no statements. With all mutants in one binary, one costs as little as the first test that finds it.
package main
