// Package suites runs tests of what locks are used in, gocron and tusd, on the adapters of contrib.
//
// None of their files is here. joined_test.go reads a suite's tests from the module cache, leaves out what they do not need, and has the
// compiler see them in the folder of the shim (go test -overlay), where a file ours_test.go may have replaced a declaration of theirs. A shim
// uses the public API alone, as a program would that changes to the engine; where it cannot do what the other library does, a test fails.
//
// table_test.go has the suites, and by name each test that is left out, with the reason. A test that is said to fail is run, and must fail;
// a name that the suite has no more fails the run, too. suites_test.go runs each test in a process and on servers of its own.
package suites
